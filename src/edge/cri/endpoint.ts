// Where a container runtime listens. Upstream: staging/src/k8s.io/cri-client/pkg/util.
// Invariant: what comes out is the absolute path of a unix socket; nothing else is spoken to.
import { KubeletError } from '../../base/errors.ts';

/** Linux keeps the path of a socket in 108 bytes, the last one being zero. */
const longestSocketPath = 107;

/** Reads `unix:///run/x.sock` or, as older configurations have it, `/run/x.sock`. */
export function parseCriEndpoint(endpoint: string): string {
  const match = /^(?:unix:(?:\/\/)?)?(\/(?!\/).*)$/s.exec(endpoint);
  const path = match?.[1];
  if (path === undefined || path.includes('\0')) {
    throw invalid(
      endpoint,
      'only unix sockets with an absolute path are supported, such as unix:///run/r.sock',
    );
  }
  if (Buffer.byteLength(path) > longestSocketPath) {
    throw invalid(endpoint, `the path of a unix socket has at most ${longestSocketPath} bytes`);
  }
  return path;
}

function invalid(endpoint: string, why: string): KubeletError {
  return new KubeletError('invalid', 'InvalidEndpoint', `runtime endpoint "${endpoint}": ${why}`, {
    details: { endpoint },
  });
}
