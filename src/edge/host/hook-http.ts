// One GET to a container's server, for lifecycle hooks: whoever answers is enough, and nobody proves who they are.
// Upstream: the lifecycle HTTP client in pkg/kubelet/kubelet.go (insecure transport, redirects to the same host only).
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { Aborted, KubeletError } from '../../base/errors.ts';
import { isPlainAnswer, plainAnswerText, requestText } from '../probe/go-error.ts';

export interface HookHttpRequest {
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

const maxRedirects = 10;
/** As much of the answer as is read, so that a small one ends the exchange properly. */
const readLimitBytes = 10 * 1024;

export async function hookHttp(request: HookHttpRequest, signal: AbortSignal): Promise<void> {
  try {
    await follow(request, signal);
  } catch (err) {
    if (signal.aborted) throw new Aborted('the request was given up', { cause: err });
    if (err instanceof KubeletError) throw err;
    if (isPlainAnswer(err)) {
      throw new KubeletError('invalid', 'HttpInsteadOfTls', plainAnswerText, { cause: err });
    }
    throw new KubeletError('unavailable', 'HttpFailed', failureText(request.url, err));
  }
}

function failureText(text: string, err: unknown): string {
  const { hostname, port, protocol } = new URL(text);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const known = protocol === 'https:' ? 443 : 80;
  return `Get "${text}": ${requestText(err, { host, port: port === '' ? known : Number(port) })}`;
}

async function follow(request: HookHttpRequest, signal: AbortSignal): Promise<void> {
  const first = new URL(request.url);
  let url = first;
  for (let hops = 0; ; hops++) {
    const response = await send(url, request.headers, signal);
    const { location } = response.headers;
    const redirects = [301, 302, 303, 307, 308].includes(response.statusCode ?? 0);
    await discard(response);
    if (!redirects || location === undefined || !URL.canParse(location, url.href)) return;
    const next = new URL(location, url);
    // An answer is an answer: who sends us to another host has given one.
    if (next.hostname !== first.hostname) return;
    if (hops + 1 === maxRedirects)
      throw new KubeletError('invalid', 'HttpFailed', 'stopped after 10 redirects');
    url = next;
  }
}

async function send(
  url: URL,
  headers: HookHttpRequest['headers'],
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const options: RequestOptions = { signal, agent: false, rejectUnauthorized: false };
  return await new Promise((resolve, reject) => {
    const outgoing = url.protocol === 'https:' ? httpsRequest(url, options) : httpRequest(url, options);
    for (const [name, values] of grouped(headers)) outgoing.setHeader(name, values);
    outgoing.once('response', resolve);
    // For good: a connection that breaks later must not go unheard.
    outgoing.on('error', reject);
    outgoing.end();
  });
}

function grouped(headers: HookHttpRequest['headers']): Map<string, string | string[]> {
  const byName = new Map<string, string[]>();
  for (const [name, value] of headers) byName.set(name, [...(byName.get(name) ?? []), value]);
  return new Map(
    [...byName].map(([name, values]) => [name, values.length === 1 ? (values[0] ?? '') : values]),
  );
}

async function discard(response: IncomingMessage): Promise<void> {
  let read = 0;
  // Leaving the loop early destroys the response and with it the connection.
  for await (const chunk of response as AsyncIterable<Buffer>) {
    read += chunk.length;
    if (read > readLimitBytes) return;
  }
}
