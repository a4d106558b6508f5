// How the API server forwards `kubectl logs` to the kubelet and its response to the client. Upstream: LogLocation in
// pkg/registry/core/pod/strategy.go and GenericHttpResponseChecker in apiserver/pkg/registry/generic/rest.
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError, badRequest } from './api-error.ts';

const mostErrorBytes = 2_000;

/** Times are forwarded in whole seconds. */
export function logQuery(query: URLSearchParams): URLSearchParams {
  const passed = new URLSearchParams(query);
  const since = passed.get('sinceTime');
  if (since !== null) passed.set('sinceTime', since.replace(/\.\d+/, ''));
  return passed;
}

/** Turns an error of the kubelet into an error of the server with the kubelet's message. */
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

/** Copies with backpressure; cuts the response if the kubelet cut its own. */
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
