// One GET with a size limit and an overall deadline; follows redirects as Go's client does.
// Invariant: whatever the server does, the call ends by its deadline with its socket closed.
// Upstream: net/http's Client in pkg/kubelet/config/http.go.
import { readFile } from 'node:fs/promises';
import {
  request as httpRequest,
  type IncomingMessage,
  maxHeaderSize,
  type OutgoingHttpHeaders,
} from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { Aborted, KubeletError } from '../../base/errors.ts';
import { boundAnswer } from './bound-answer.ts';

export interface HttpGetRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly limitBytes: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface HttpGetAnswer {
  readonly status: number;
  readonly body: Uint8Array;
}

const maxRedirects = 10;
/** Allowance for headers and chunk lengths. */
const overheadBytes = 256 * 1024;
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Headers that are not sent to another host after a redirect. */
const sensitiveHeaders: ReadonlySet<string> = new Set([
  'authorization',
  'www-authenticate',
  'cookie',
  'cookie2',
]);

/** The trusted root certificates of the machine, by distribution. */
const rootFiles = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/pki/tls/cacert.pem',
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  '/etc/ssl/cert.pem',
] as const;

export async function httpGet(request: HttpGetRequest): Promise<HttpGetAnswer> {
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), request.timeoutMs);
  try {
    return await follow(request, AbortSignal.any([request.signal, deadline.signal]));
  } catch (err) {
    if (request.signal.aborted) throw new Aborted('the request was aborted', { cause: err });
    if (deadline.signal.aborted)
      throw new KubeletError(
        'timeout',
        'HttpTimeout',
        `no complete response within ${request.timeoutMs} ms`,
        {
          cause: err,
        },
      );
    if (err instanceof KubeletError) throw err;
    throw new KubeletError('unavailable', 'HttpFailed', 'the request failed', { cause: err });
  } finally {
    clearTimeout(timer);
  }
}

async function follow(request: HttpGetRequest, signal: AbortSignal): Promise<HttpGetAnswer> {
  let url = parse(request.url);
  let headers = request.headers;
  for (let hops = 0; ; hops++) {
    const response = await send(url, headers, request.limitBytes, signal);
    const status = response.statusCode ?? 0;
    const { location } = response.headers;
    if (!redirects.has(status) || location === undefined)
      return { status, body: await readBody(response, request.limitBytes) };
    response.destroy();
    if (hops === maxRedirects)
      throw new KubeletError('invalid', 'TooManyRedirects', `redirected more than ${maxRedirects} times`);
    const next = parse(location, url);
    if (!isSameSite(url.hostname, next.hostname)) headers = withoutSensitive(headers);
    url = next;
  }
}

function parse(text: string, base?: URL): URL {
  if (!URL.canParse(text, base?.href))
    throw new KubeletError('invalid', 'InvalidUrl', 'the URL is not valid');
  const url = new URL(text, base);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new KubeletError(
      'invalid',
      'InvalidUrl',
      `the URL has the protocol ${url.protocol}, not http or https`,
    );
  return url;
}

/** The same host or a subdomain of it, as for cookies. */
function isSameSite(from: string, to: string): boolean {
  return to === from || to.endsWith(`.${from}`);
}

function withoutSensitive(headers: HttpGetRequest['headers']): HttpGetRequest['headers'] {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !sensitiveHeaders.has(name.toLowerCase())),
  );
}

async function send(
  url: URL,
  headers: HttpGetRequest['headers'],
  limitBytes: number,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const outgoing: OutgoingHttpHeaders = Object.fromEntries(
    Object.entries(headers).map(([name, values]) => [name, [...values]]),
  );
  // No connection reuse: the next request is many seconds away, and the server may have changed by then.
  const options: RequestOptions = { headers: outgoing, signal, agent: false };
  const roots = url.protocol === 'https:' ? await systemRoots() : undefined;
  return await new Promise((resolve, reject) => {
    const request =
      url.protocol === 'https:'
        ? httpsRequest(url, roots === undefined ? options : { ...options, ca: roots })
        : httpRequest(url, options);
    boundAnswer(request, { headerBytes: maxHeaderSize, totalBytes: 2 * limitBytes + overheadBytes });
    request.once('response', resolve);
    // Permanent: an error after the response must not be uncaught.
    request.on('error', reject);
    request.end();
  });
}

/** The machine's trusted roots, including an administrator's own authority; undefined if it has none: use Node's. */
export async function systemRoots(): Promise<string | undefined> {
  const given = process.env['SSL_CERT_FILE'];
  for (const file of given === undefined ? rootFiles : [given]) {
    const text = await readFile(file, 'utf8').catch(() => undefined);
    if (text !== undefined) return text;
  }
  return undefined;
}

async function readBody(response: IncomingMessage, limitBytes: number): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let length = 0;
  // Leaving the loop early destroys the response and with it the connection.
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > limitBytes)
      throw new KubeletError('invalid', 'TooLarge', `the response is larger than ${limitBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
