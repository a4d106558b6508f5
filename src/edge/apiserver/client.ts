// The API server's client: rate limits, deadlines, retries on Retry-After, typed errors, watches. JSON only.
// Upstream: client-go/rest. Why not a library: docs/decisions/0010-api-client-by-hand.md.
// Invariants: every request counts against its limiter and ends by its deadline; a request that the server may have
// executed is not repeated, unless the server itself requested a retry.
import { setMaxListeners } from 'node:events';
import type {
  ApiCallOptions,
  ApiClient,
  ApiLimiter,
  ApiQuery,
  ApiRequest,
  DeleteOptions,
  KubeList,
  PatchKind,
  WatchEvent,
} from '../../api/ports/api-client.ts';
import { withDeadline } from '../../base/abort/deadline.ts';
import type { Clock } from '../../base/clock.ts';
import { isAbort, KubeletError } from '../../base/errors.ts';
import type { CallRecorder } from '../../base/in-flight-calls.ts';
import type { Logger } from '../../base/log/log.ts';
import { readAll, readLines } from './json-lines.ts';
import { fromResponse, fromStatus } from './status-error.ts';
import type { Transport, TransportResponse } from './transport.ts';

interface RequestObservation {
  readonly method: string;
  readonly host: string;
  /** The HTTP status, or `<error>` when there was no response. */
  readonly code: string;
  readonly seconds: number;
  readonly requestBytes: number;
}

export interface ApiClientObserver {
  request(observation: RequestObservation): void;
  responded?(method: string, host: string, bytes: number): void;
  waited(method: string, host: string, seconds: number): void;
  retried(method: string, host: string, code: string): void;
  /** An attempt to reload the CA of the API server. */
  reloadedAuthority?(result: 'success' | 'failure', reason: string): void;
}

export interface ApiServerClientDeps {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly log: Logger;
  readonly userAgent: string;
  /** A limiter without an entry is unlimited. */
  readonly limiters: Partial<Record<ApiLimiter, { take(signal?: AbortSignal): Promise<void> }>>;
  /** Deadline of one call. Heartbeats: the shorter of lease duration and status frequency. */
  readonly timeoutMs: { readonly [limiter in ApiLimiter]: number };
  readonly observer?: ApiClientObserver;
  /** Lists the requests in flight. A watch that has begun is not listed. */
  readonly calls?: CallRecorder | undefined;
}

const patchTypes: Readonly<Record<PatchKind, string>> = {
  strategic: 'application/strategic-merge-patch+json',
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
};

/** client-go's limit on retries after a Retry-After. */
const maxRetries = 10;
const maxResponseBytes = 128 * 1024 * 1024;
/** One object; etcd accepts at most 1.5 MiB. */
const maxEventBytes = 16 * 1024 * 1024;
/** Deadline for the response headers of a watch. */
const watchStartMs = 60_000;

interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly body: string | undefined;
  readonly contentType: string;
  readonly limiter: ApiLimiter;
}

export class ApiServerClient implements ApiClient {
  readonly #deps: ApiServerClientDeps;

  constructor(deps: ApiServerClientDeps) {
    this.#deps = deps;
  }

  async request<T>(request: ApiRequest): Promise<T> {
    const { clock, timeoutMs } = this.#deps;
    const exchange = exchangeOf(request);
    // Many requests share the signal of their component: this many listeners are not a leak.
    setMaxListeners(0, request.signal);
    const options = {
      clock,
      ms: request.timeoutMs ?? timeoutMs[exchange.limiter],
      signal: request.signal,
      what: `${exchange.method} ${request.path}`,
    };
    return await this.#recorded(options, async (signal) => {
      const response = await this.#send(exchange, signal);
      const text = await readAll(response.body, maxResponseBytes);
      this.#deps.observer?.responded?.(exchange.method, this.#deps.transport.host, text.length);
      if (response.status >= 400) throw fromResponse(response.status, text, options.what);
      return parseBody(text, options.what) as T;
    });
  }

  get<T>(path: string, options: ApiCallOptions): Promise<T> {
    return this.request({ ...options, method: 'GET', path });
  }

  list<T>(path: string, options: ApiCallOptions): Promise<KubeList<T>> {
    return this.request({ ...options, method: 'GET', path });
  }

  create<T>(path: string, body: unknown, options: ApiCallOptions): Promise<T> {
    return this.request({ ...options, method: 'POST', path, body });
  }

  update<T>(path: string, body: unknown, options: ApiCallOptions): Promise<T> {
    return this.request({ ...options, method: 'PUT', path, body });
  }

  patch<T>(path: string, kind: PatchKind, body: unknown, options: ApiCallOptions): Promise<T> {
    return this.request({ ...options, method: 'PATCH', path, body, contentType: patchTypes[kind] });
  }

  delete<T>(path: string, body: DeleteOptions, options: ApiCallOptions): Promise<T> {
    const typed = { apiVersion: 'v1', kind: 'DeleteOptions', ...body };
    return this.request({ ...options, method: 'DELETE', path, body: typed });
  }

  async *watch<T>(path: string, query: ApiQuery, signal: AbortSignal): AsyncGenerator<WatchEvent<T>> {
    const { clock } = this.#deps;
    const what = `watch ${path}`;
    const exchange = exchangeOf({ method: 'GET', path, query: { ...query, watch: true }, signal });
    // The deadline covers the response headers only; the stream is bound to the caller's signal.
    const stream = new AbortController();
    const follow = AbortSignal.any([signal, stream.signal]);
    try {
      const response = await this.#recorded({ clock, ms: watchStartMs, signal: follow, what }, async () => {
        const started = await this.#send(exchange, follow);
        if (started.status < 400) return started;
        throw fromResponse(started.status, await readAll(started.body, maxEventBytes), what);
      });
      for await (const line of readLines(response.body, maxEventBytes)) yield watchEvent<T>(line, what);
    } finally {
      stream.abort();
    }
  }

  /** Runs `work` within its deadline, listed as a call in flight. */
  async #recorded<T>(
    options: Parameters<typeof withDeadline>[0],
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const recorded = this.#deps.calls?.begin('api-server', options.what, options.ms);
    try {
      return await withDeadline(options, work);
    } finally {
      recorded?.end();
    }
  }

  closeConnections(): void {
    this.#deps.transport.closeConnections();
  }

  /** Sends the exchange, and again for as long as the server requests a retry. */
  async #send(exchange: Exchange, signal: AbortSignal): Promise<TransportResponse> {
    const { clock, log, observer, transport } = this.#deps;
    for (let retries = 0; ; retries++) {
      await this.#throttle(exchange, signal);
      const response = await this.#sendOnce(exchange, signal);
      const waitMs = retryAfterMs(response);
      if (waitMs === undefined || retries >= maxRetries) return response;
      await discard(response);
      observer?.retried(exchange.method, transport.host, String(response.status));
      log.v(2).info('API server requested a retry', {
        path: pathOf(exchange.path),
        code: response.status,
        waitMs,
      });
      await clock.sleep(waitMs, signal);
    }
  }

  async #throttle(exchange: Exchange, signal: AbortSignal): Promise<void> {
    const limiter = this.#deps.limiters[exchange.limiter];
    if (limiter === undefined) return;
    const { clock, log, observer, transport } = this.#deps;
    const beganMs = clock.monotonic();
    await limiter.take(signal);
    const waitedMs = clock.monotonic() - beganMs;
    observer?.waited(exchange.method, transport.host, waitedMs / 1000);
    if (waitedMs > 1000) {
      log.info('Waited before sending request', { waitedMs, path: pathOf(exchange.path) });
    }
  }

  async #sendOnce(exchange: Exchange, signal: AbortSignal): Promise<TransportResponse> {
    const { clock, observer, transport, userAgent } = this.#deps;
    const { method, path, body } = exchange;
    const beganMs = clock.monotonic();
    const observe = (code: string): void =>
      observer?.request({
        method,
        host: transport.host,
        code,
        seconds: (clock.monotonic() - beganMs) / 1000,
        requestBytes: body === undefined ? 0 : Buffer.byteLength(body),
      });
    try {
      const response = await transport.send({
        method,
        path,
        headers: {
          accept: 'application/json',
          'user-agent': userAgent,
          ...(body === undefined ? {} : { 'content-type': exchange.contentType }),
        },
        ...(body === undefined ? {} : { body }),
        signal,
      });
      observe(String(response.status));
      if (response.status === 401) transport.unauthorized();
      return response;
    } catch (err) {
      observe('<error>');
      throw signal.aborted && !(err instanceof KubeletError) && !isAbort(err) ? signal.reason : err;
    }
  }
}

function exchangeOf(request: ApiRequest): Exchange {
  return {
    method: request.method,
    path: request.path + queryText(request.query),
    body: request.body === undefined ? undefined : JSON.stringify(request.body),
    contentType: request.contentType ?? 'application/json',
    limiter: request.limiter ?? 'requests',
  };
}

function queryText(query: ApiQuery = {}): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) params.set(name, String(value));
  return params.size === 0 ? '' : `?${params.toString()}`;
}

function pathOf(pathAndQuery: string): string {
  return pathAndQuery.split('?', 1)[0] ?? pathAndQuery;
}

/** The Retry-After of a 429 or 5xx. Responses without one are not retried. */
function retryAfterMs(response: TransportResponse): number | undefined {
  if (response.status !== 429 && response.status < 500) return undefined;
  const text = response.headers['retry-after'] ?? '';
  return /^\d{1,6}$/.test(text) ? Number(text) * 1000 : undefined;
}

async function discard(response: TransportResponse): Promise<void> {
  await readAll(response.body, maxEventBytes);
}

function parseBody(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new KubeletError('internal', 'InvalidResponse', `the response to ${what} is not JSON`, { cause });
  }
}

function watchEvent<T>(line: string, what: string): WatchEvent<T> {
  const event = parseBody(line, what) as WatchEvent<T> | { readonly type: 'ERROR'; readonly object: object };
  if (event.type === 'ERROR') throw fromStatus(event.object, 500, what);
  return event;
}
