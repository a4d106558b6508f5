// One GET to a server inside a pod, for probes and lifecycle hooks: without connection reuse, proxy and certificate
// verification; redirects are followed within the host only. Upstream: NewRequestForHTTPGetAction and RedirectChecker in
// pkg/probe/http, with Go's net/http client.
// Invariants: the server may be hostile, so everything that it sends is bounded; once the call has failed, or the response is
// destroyed or read to its end, the socket is closed.
// differs from upstream: HTTP/1.1 only, where Go offers HTTP/2 to servers with TLS.
import { constants } from 'node:crypto';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import { type ConnectionOptions, createSecureContext, type SecureContext } from 'node:tls';
import type { PodHttpRequest } from '../../api/ports/probe-requests.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import { boundAnswer, headersText } from '../http-client/bound-answer.ts';
import { podLookup } from '../http-client/pod-lookup.ts';
import { codeOf, isPlainAnswer, requestText } from './go-error.ts';
import { isAbsolute, type ProbeUrl, probeUrl, redirectUrl } from './probe-url.ts';

type Headers = PodHttpRequest['headers'];

export interface PodAnswer {
  readonly status: number;
  readonly response: IncomingMessage;
}

/** Upstream's limit. */
export const bodyLimitBytes = 10 * 1024;
/** differs from upstream: 10 MiB there. */
const headerLimitBytes = 64 * 1024;
/** Leaves room for a body in chunks of one byte. */
const limits = { headerBytes: headerLimitBytes, totalBytes: 192 * 1024 };
const maxRequests = 10;
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Go's client writes these itself, whatever the caller has set. */
const reservedHeaders: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding', 'trailer']);

/**
 * Resolves with the final response, its body unread. Rejects with a KubeletError that has Go's text, `Get "URL": why`. Its
 * reason is `HttpFailed`, or `HttpInsteadOfTls`. If `signal` is aborted, the text contains the signal's reason.
 */
export async function getFromPod(request: PodHttpRequest, signal: AbortSignal): Promise<PodAnswer> {
  const first = probeUrl(request.scheme, request.host, request.port, request.path);
  let url = first;
  let { headers } = request;
  for (let sent = 1; ; sent++) {
    const answer = await send(url, headers, signal).catch((err: unknown) => {
      const why = signal.aborted ? describeError(signal.reason) : whyText(err, url);
      throw failed(url, why, isPlainAnswer(err) ? 'HttpInsteadOfTls' : 'HttpFailed');
    });
    const location = redirects.has(answer.status) ? (answer.response.headers.location ?? '') : '';
    if (location === '') return answer;
    const next = redirectUrl(url, location);
    if (next !== undefined && next.host !== first.host) return answer;
    answer.response.destroy();
    if (next === undefined) {
      const shown = JSON.stringify(location.slice(0, maxShownLength));
      throw failed(url, `failed to parse Location header ${shown}`);
    }
    if (sent >= maxRequests) throw failed(next, `stopped after ${maxRequests} redirects`);
    headers = redirectHeaders(headers, url, next, location);
    url = next;
  }
}

/** A redirect URL may have many kilobytes; error messages contain its beginning only. */
const maxShownLength = 1024;

function failed(url: ProbeUrl, why: string, reason = 'HttpFailed'): KubeletError {
  return new KubeletError('unavailable', reason, `Get "${url.text.slice(0, maxShownLength)}": ${why}`);
}

function whyText(err: unknown, url: ProbeUrl): string {
  if (err instanceof KubeletError) return err.message;
  return codeOf(err) === 'HPE_HEADER_OVERFLOW' ? headersText(limits) : requestText(err, url);
}

/** The Host header of the first request is kept as long as redirects stay relative. */
function redirectHeaders(headers: Headers, from: ProbeUrl, to: ProbeUrl, location: string): Headers {
  const kept = headers.filter(([name]) => {
    const lower = name.toLowerCase();
    return lower !== 'referer' && !(lower === 'host' && isAbsolute(location));
  });
  const sendsReferer = !(from.scheme === 'https' && to.scheme === 'http');
  return sendsReferer ? [...kept, ['Referer', from.text]] : kept;
}

function send(url: ProbeUrl, headers: Headers, signal: AbortSignal): Promise<PodAnswer> {
  return new Promise((resolve, reject) => {
    // Opens the connection, unless the request cannot be sent: then it throws.
    const request = open(url, headers, signal);
    boundAnswer(request, limits);
    let received: IncomingMessage | undefined;
    request.once('response', (response) => {
      received = response;
      resolve({ status: response.statusCode ?? 0, response });
    });
    // A switch of protocols counts as the response 101.
    request.once('upgrade', (response, socket) => {
      socket.destroy();
      resolve({ status: response.statusCode ?? 0, response });
    });
    // A parse error within the body is reported here, not to the reader of the body.
    request.on('error', (err) => {
      received?.destroy(err);
      reject(err);
    });
    try {
      request.end();
    } catch (err) {
      request.destroy();
      reject(err);
    }
  });
}

function open(url: ProbeUrl, headers: Headers, signal: AbortSignal): ClientRequest {
  const options = {
    method: 'GET',
    host: url.host,
    port: url.port,
    path: url.target,
    headers: outgoing(headers, url),
    signal,
    lookup: podLookup,
    // A separate connection, closed after the response, and never the environment's proxy.
    agent: false as const,
    maxHeaderSize: headerLimitBytes,
    // Small servers use odd line endings; Go accepts them, and nothing is forwarded here.
    insecureHTTPParser: true,
  };
  if (url.scheme === 'http') return httpRequest(options);
  const servername = isIP(url.host) === 0 ? url.host : '';
  const tls: ConnectionOptions = { rejectUnauthorized: false, servername, secureContext: tlsContext() };
  return httpsRequest({ ...options, ...tls });
}

let sharedContext: SecureContext | undefined;

/** As Go's client, without renegotiation: a server could request endless handshakes. */
function tlsContext(): SecureContext {
  sharedContext ??= createSecureContext({ secureOptions: constants.SSL_OP_NO_RENEGOTIATION });
  return sharedContext;
}

/** Values may contain any character and are sent as UTF-8. An empty User-Agent is omitted. */
function outgoing(headers: Headers, url: ProbeUrl): Record<string, string | string[]> {
  const byName = new Map<string, { readonly name: string; readonly values: string[] }>();
  for (const [name, value] of headers) {
    const lower = name.toLowerCase();
    if (reservedHeaders.has(lower)) continue;
    const entry = byName.get(lower) ?? { name, values: [] };
    entry.values.push(Buffer.from(value, 'utf8').toString('latin1'));
    byName.set(lower, entry);
  }
  const host = byName.get('host')?.values[0];
  byName.delete('host');
  if (byName.get('user-agent')?.values[0] === '') byName.delete('user-agent');
  return {
    Host: host === undefined || host === '' ? url.authority : host,
    ...Object.fromEntries([...byName.values()].map(({ name, values }) => [name, values])),
    Connection: 'close',
  };
}
