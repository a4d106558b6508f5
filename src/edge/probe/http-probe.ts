// Probes a server with one GET. Upstream: pkg/probe/http. Invariants: settles by its timeout with the socket closed, whatever
// the server does; at most 10 KiB of a body are read.
import type { IncomingMessage } from 'node:http';
import type { HttpProbeRequest, ProbeAnswer } from '../../api/ports/probe-requests.ts';
import { setDeadline } from '../../base/abort/set-deadline.ts';
import { realClock } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';
import { tooMuchNonData } from '../http-client/bound-answer.ts';
import { codeOf } from './go-error.ts';
import { bodyLimitBytes, getFromPod, type PodAnswer } from './pod-http.ts';

const bodyFailed = 'ProbeBodyFailed';
const timeoutText = 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)';

export async function httpProbe(probe: HttpProbeRequest, signal: AbortSignal): Promise<ProbeAnswer> {
  signal.throwIfAborted();
  const limit = new AbortController();
  const timer = setDeadline(realClock, probe.timeoutMs, () =>
    limit.abort(new KubeletError('timeout', 'ProbeTimeout', timeoutText)),
  );
  const isLate = (): boolean => limit.signal.aborted;
  try {
    const answer = await getFromPod(probe, AbortSignal.any([signal, limit.signal]));
    return await judge(answer, isLate);
  } catch (err) {
    if (signal.aborted) throw signal.reason;
    if (!(err instanceof KubeletError) || err.reason === bodyFailed) throw err;
    return { result: 'failure', output: err.message, ...(isLate() ? { timedOut: true } : {}) };
  } finally {
    timer.cancel();
  }
}

async function judge({ response, status }: PodAnswer, isLate: () => boolean): Promise<ProbeAnswer> {
  const body = await readBody(response, isLate);
  if (status >= 300 && status < 400) {
    return { result: 'warning', output: `Probe terminated redirects, Response body: ${body}` };
  }
  if (status >= 200 && status < 300) return { result: 'success', output: body };
  // Without the body: users who may read events need not be allowed to read the server's responses.
  return { result: 'failure', output: `HTTP probe failed with statuscode: ${status}` };
}

/** Truncated at the limit. A truncated transfer is an error of the probe, not a failure of the server. */
async function readBody(response: IncomingMessage, isLate: () => boolean): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    // Leaving the loop early destroys the response and with it the connection.
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= bodyLimitBytes) break;
    }
  } catch (cause) {
    throw new KubeletError('unavailable', bodyFailed, bodyText(cause, isLate()), { cause });
  }
  return Buffer.concat(chunks).subarray(0, bodyLimitBytes).toString('utf8');
}

function bodyText(err: unknown, isLate: boolean): string {
  if (isLate) return 'context deadline exceeded (Client.Timeout or context cancellation while reading body)';
  if (codeOf(err) === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return tooMuchNonData;
  return err instanceof KubeletError ? err.message : 'unexpected EOF';
}
