// One GET as a probe makes it: no connection is kept, no proxy asked, no certificate checked, redirects followed within the host.
// Upstream: pkg/probe/http and Go's net/http client. Invariants: by its timeout it has settled, whatever the server does, and the
// socket is gone; at most 10 KiB of a body are read.
// differs from upstream: HTTP/1.1 only, where Go offers HTTP/2 to servers with TLS.
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import type { HttpProbeRequest, ProbeAnswer } from '../../api/probe-requests.ts';
import { KubeletError } from '../../base/errors.ts';
import { requestText } from './go-error.ts';
import { isAbsolute, type ProbeUrl, probeUrl, redirectUrl } from './probe-url.ts';

const bodyLimitBytes = 10 * 1024;
const headerLimitBytes = 1024 * 1024;
const mostRequests = 10;
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

type Headers = HttpProbeRequest['headers'];

interface Head {
  readonly status: number;
  readonly location: string | undefined;
  readonly response: IncomingMessage;
}

export async function httpProbe(probe: HttpProbeRequest, signal: AbortSignal): Promise<ProbeAnswer> {
  signal.throwIfAborted();
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), probe.timeoutMs);
  const stop = AbortSignal.any([signal, limit.signal]);
  try {
    return await follow(probe, stop, () => limit.signal.aborted);
  } catch (err) {
    if (signal.aborted) throw signal.reason;
    throw err;
  } finally {
    clearTimeout(timer);
  }
}

async function follow(
  probe: HttpProbeRequest,
  stop: AbortSignal,
  isLate: () => boolean,
): Promise<ProbeAnswer> {
  const first = probeUrl(probe.scheme, probe.host, probe.port, probe.path);
  let url = first;
  let { headers } = probe;
  const failed = (why: string): ProbeAnswer => ({ result: 'failure', output: `Get "${url.text}": ${why}` });
  for (let sent = 1; ; sent++) {
    let head: Head;
    try {
      head = await send(url, headers, stop);
    } catch (err) {
      if (stop.aborted && !isLate()) throw err;
      return failed(isLate() ? lateText : requestText(err, url));
    }
    const location = redirects.has(head.status) ? (head.location ?? '') : '';
    if (location === '') return await judge(head, stop, isLate);
    const next = redirectUrl(url, location);
    if (next !== undefined && next.host !== first.host) return await judge(head, stop, isLate);
    head.response.destroy();
    if (next === undefined) return failed(`failed to parse Location header ${JSON.stringify(location)}`);
    if (sent >= mostRequests) {
      url = next;
      return failed(`stopped after ${mostRequests} redirects`);
    }
    headers = redirectHeaders(headers, url, next, location);
    url = next;
  }
}

const lateText = 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)';

async function judge(
  { response, status }: Head,
  stop: AbortSignal,
  isLate: () => boolean,
): Promise<ProbeAnswer> {
  const body = await readBody(response, stop, isLate);
  if (status >= 300 && status < 400) {
    return { result: 'warning', output: `Probe terminated redirects, Response body: ${body}` };
  }
  if (status >= 200 && status < 300) return { result: 'success', output: body };
  // Without the body: an event is read by people who may not be allowed to see what the server tells.
  return { result: 'failure', output: `HTTP probe failed with statuscode: ${status}` };
}

/** A host that was given for the first request holds for as long as redirects stay relative. */
function redirectHeaders(headers: Headers, from: ProbeUrl, to: ProbeUrl, location: string): Headers {
  const kept = headers.filter(([name]) => {
    const lower = name.toLowerCase();
    return lower !== 'referer' && !(lower === 'host' && isAbsolute(location));
  });
  const tellsReferer = !(from.scheme === 'https' && to.scheme === 'http');
  return tellsReferer ? [...kept, ['Referer', from.text]] : kept;
}

function send(url: ProbeUrl, headers: Headers, stop: AbortSignal): Promise<Head> {
  return new Promise((resolve, reject) => {
    const request = open(url, headers, stop);
    request.once('response', (response) => {
      resolve({ status: response.statusCode ?? 0, location: response.headers.location, response });
    });
    // A server that wants to speak another protocol has answered with 101.
    request.once('upgrade', (response, socket) => {
      socket.destroy();
      resolve({ status: response.statusCode ?? 0, location: undefined, response });
    });
    // For good: a connection that breaks later must not go unheard.
    request.on('error', reject);
    request.end();
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
    // A connection of its own, closed after the answer, and never the environment's proxy.
    agent: false as const,
    maxHeaderSize: headerLimitBytes,
    // Small servers end their lines as they like; Go takes that, and nothing here is passed on to anybody.
    insecureHTTPParser: true,
  };
  if (url.scheme === 'http') return httpRequest(options);
  const servername = isIP(url.host) === 0 ? url.host : '';
  return httpsRequest({ ...options, rejectUnauthorized: false, servername });
}

/** A value may have any character: it is sent as UTF-8. An empty User-Agent is none. */
function outgoing(headers: Headers, url: ProbeUrl): Record<string, string | string[]> {
  const byName = new Map<string, { readonly name: string; readonly values: string[] }>();
  for (const [name, value] of headers) {
    const entry = byName.get(name.toLowerCase()) ?? { name, values: [] };
    entry.values.push(Buffer.from(value, 'utf8').toString('latin1'));
    byName.set(name.toLowerCase(), entry);
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

/** What came when the limit is reached counts as the body. A body that breaks says nothing about the server. */
async function readBody(
  response: IncomingMessage,
  stop: AbortSignal,
  isLate: () => boolean,
): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    // Leaving the loop early destroys the response and with it the connection.
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= bodyLimitBytes) break;
    }
  } catch (err) {
    if (stop.aborted && !isLate()) throw err;
    const why = isLate()
      ? 'context deadline exceeded (Client.Timeout or context cancellation while reading body)'
      : 'unexpected EOF';
    throw new KubeletError('unavailable', 'ProbeBodyFailed', why, { cause: err });
  }
  return Buffer.concat(chunks).subarray(0, bodyLimitBytes).toString('utf8');
}
