// Parses the endpoint of a container runtime. Upstream: staging/src/k8s.io/cri-client/pkg/util.
// Invariant: the result is the absolute path of a unix socket; no other kind of endpoint is supported.
import { KubeletError } from '../../base/errors.ts';

/** Linux stores the path of a socket in 108 bytes, including the terminating zero. */
const maxSocketPathBytes = 107;

/** Accepts `unix:///run/x.sock` and, from older configurations, `/run/x.sock`. */
export function parseCriEndpoint(endpoint: string): string {
  const match = /^(?:unix:(?:\/\/)?)?(\/(?!\/).*)$/s.exec(endpoint);
  const path = match?.[1];
  if (path === undefined || path.includes('\0')) {
    throw invalid(
      endpoint,
      'only unix sockets with an absolute path are supported, such as unix:///run/r.sock',
    );
  }
  if (Buffer.byteLength(path) > maxSocketPathBytes) {
    throw invalid(endpoint, `the path of a unix socket has at most ${maxSocketPathBytes} bytes`);
  }
  return path;
}

function invalid(endpoint: string, why: string): KubeletError {
  return new KubeletError('invalid', 'InvalidEndpoint', `runtime endpoint "${endpoint}": ${why}`, {
    details: { endpoint },
  });
}
