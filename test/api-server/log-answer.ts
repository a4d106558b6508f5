// What a real API server makes of a kubelet's answer to `kubectl logs`, and of the request before. Upstream: LogLocation in
// pkg/registry/core/pod/strategy.go and GenericHttpResponseChecker in apiserver/pkg/registry/generic/rest.
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError, badRequest } from './api-error.ts';

const mostErrorBytes = 2_000;

/** A time is passed on in whole seconds. */
export function logQuery(query: URLSearchParams): URLSearchParams {
  const passed = new URLSearchParams(query);
  const since = passed.get('sinceTime');
  if (since !== null) passed.set('sinceTime', since.replace(/\.\d+/, ''));
  return passed;
}

/** An error of the kubelet's is the server's own, in the kubelet's words. */
export async function checkLogAnswer(answer: IncomingMessage, pod: string): Promise<void> {
  const code = answer.statusCode ?? 502;
  if (code >= 200 && code <= 206) return;
  let text = '';
  for await (const chunk of answer as AsyncIterable<Uint8Array>) text += Buffer.from(chunk).toString();
  text = text.slice(0, mostErrorBytes);
  if (code === 500) throw new ApiError(500, 'InternalError', `Internal error occurred: ${text}`);
  if (code === 400) throw badRequest(text);
  if (code !== 404) throw new ApiError(code, 'Unknown', `the server responded with the status code ${code}`);
  const message = `the server could not find the requested resource ( pods/log ${pod})`;
  throw new ApiError(404, 'NotFound', message);
}

/** No faster than it is read; cut off where the kubelet cut it off. */
export async function passOn(answer: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    for await (const chunk of answer as AsyncIterable<Uint8Array>) {
      if (response.destroyed) break;
      if (!response.write(chunk)) await Promise.race([once(response, 'drain'), once(response, 'close')]);
    }
    response.end();
  } catch {
    response.destroy();
  }
}
