// The GET of a lifecycle hook: any response is a success. Upstream: runHTTPHandler in pkg/kubelet/lifecycle and its HTTP client
// in pkg/kubelet/kubelet.go. As there, it has no timeout: a server may work for minutes before it responds, and `signal` ends
// the wait. The response is bounded, so a hook that never ends costs nothing.
import { finished } from 'node:stream/promises';
import type { PodHttpRequest } from '../../api/ports/probe-requests.ts';
import { Aborted } from '../../base/errors.ts';
import { bodyLimitBytes, getFromPod, type PodAnswer } from '../probe/pod-http.ts';

export async function hookHttp(request: PodHttpRequest, signal: AbortSignal): Promise<void> {
  try {
    await discard(await getFromPod(request, signal));
  } catch (err) {
    if (!signal.aborted) throw err;
  }
  if (signal.aborted) throw new Aborted('the request was aborted', { cause: signal.reason });
}

/** Reads a small body to its end: the server may still be working while it sends it. A truncated body is not a failure. */
async function discard({ response }: PodAnswer): Promise<void> {
  let read = 0;
  if (!(Number(response.headers['content-length'] ?? 0) <= bodyLimitBytes)) response.destroy();
  else
    response.on('data', (chunk: Buffer) => {
      read += chunk.length;
      if (read > bodyLimitBytes) response.destroy();
    });
  await finished(response).catch(() => undefined);
  response.destroy();
}
