// The GET of a lifecycle hook: any answer is enough. Upstream: runHTTPHandler in pkg/kubelet/lifecycle and its HTTP client in
// pkg/kubelet/kubelet.go. As there, it has no timeout: a server may work for minutes before it answers, and `signal` ends the
// wait. What the server sends has a bound, so a hook that never ends costs nothing.
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
  if (signal.aborted) throw new Aborted('the request was given up', { cause: signal.reason });
}

/** Reads a small body to its end: a server may still be working while it sends it. A body that breaks off is no failure. */
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
