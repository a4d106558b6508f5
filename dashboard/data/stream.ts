// Keeps one server-sent event stream open to the kubelet, for the current view. Reconnects by itself, with back-off and
// jitter, since a browser's EventSource gives up on HTTP errors and hides their status. A hidden page has no connection.
// Invariant: at most one EventSource and one timer of each kind exist.
import type { PodUid } from '../../src/api/pod/pod-ref.ts';
import { type Connection, messageNames, type StreamMessage } from './state.ts';

export interface EventSourceLike {
  addEventListener(name: string, listen: (event: { readonly data?: unknown }) => void): void;
  close(): void;
}

/** What the view needs besides the levels that everyone gets. */
export interface StreamWants {
  readonly pod?: PodUid | undefined;
  readonly health?: boolean | undefined;
}

interface StreamDeps {
  readonly open: (url: string) => EventSourceLike;
  /** The HTTP status of api/access; rejects if the kubelet is unreachable. */
  readonly status: () => Promise<number>;
  readonly random: () => number;
  readonly onMessage: (message: StreamMessage, pod: PodUid | undefined) => void;
  readonly onConnection: (connection: Connection) => void;
}

export const shortestRetryMs = 500;
export const longestRetryMs = 10_000;
/** The kubelet sends a sample every second or so; a silence of this length is a dead connection. */
export const silenceMs = 20_000;
/** A connection that lasted as long as this was a good one. */
export const settledMs = 5_000;

export class PageStream {
  readonly #deps: StreamDeps;
  #wants: StreamWants = {};
  #source: EventSourceLike | undefined;
  #paused = true;
  #failures = 0;
  /** The last attempt was refused for its credentials. */
  #isRefused = false;
  #timers = new Map<'retry' | 'silence' | 'settled', ReturnType<typeof setTimeout>>();

  constructor(deps: StreamDeps) {
    this.#deps = deps;
  }

  /** Connects; also at once when it waits for a retry. */
  resume(): void {
    this.#paused = false;
    if (this.#source === undefined) this.#connect();
  }

  /** Closes the connection, until `resume`. */
  pause(): void {
    this.#paused = true;
    this.#close();
  }

  /** Opens another connection if the view needs another one. */
  want(wants: StreamWants): void {
    const isSame = urlOf(wants) === urlOf(this.#wants);
    this.#wants = wants;
    if (isSame || this.#paused || this.#source === undefined) return;
    this.#connect();
  }

  /** With new credentials, or by the viewer's wish. */
  retryNow(): void {
    this.#failures = 0;
    if (!this.#paused) this.#connect();
  }

  #connect(): void {
    this.#close();
    const wanted = this.#wants.pod;
    const source = this.#deps.open(urlOf(this.#wants));
    this.#source = source;
    this.#watch(source);
    for (const name of messageNames) {
      source.addEventListener(name, ({ data }) => {
        if (this.#source !== source || typeof data !== 'string') return;
        const message = parsed(name, data);
        if (message === undefined) return;
        this.#watch(source);
        this.#receive(message, wanted);
      });
    }
    source.addEventListener('error', () => {
      if (this.#source === source) this.#fail('The kubelet does not answer.');
    });
  }

  #receive(message: StreamMessage, pod: PodUid | undefined): void {
    const { onConnection, onMessage } = this.#deps;
    if (message.name === 'hello') {
      this.#isRefused = false;
      onConnection({ kind: 'connected' });
      this.#after('settled', settledMs, () => {
        this.#failures = 0;
      });
    }
    onMessage(message, pod);
    if (message.name !== 'bye') return;
    this.#close();
    onConnection({ kind: 'reconnecting', why: message.data.why });
    this.#retryAfter(Math.min(Math.max(message.data.retryMs, 0), 60_000));
  }

  #watch(source: EventSourceLike): void {
    this.#after('silence', silenceMs, () => {
      if (this.#source === source) this.#fail('The kubelet has sent nothing for 20 s.');
    });
  }

  #fail(why: string): void {
    this.#close();
    this.#failures += 1;
    if (!this.#isRefused) this.#deps.onConnection({ kind: 'reconnecting', why });
    void this.#explainAndRetry(why, this.#failures);
  }

  /** EventSource does not say why it failed; api/access, which needs the same permission, does. */
  async #explainAndRetry(why: string, failures: number): Promise<void> {
    const status = await this.#deps.status().catch(() => undefined);
    if (this.#paused || this.#source !== undefined || this.#failures !== failures) return;
    if (status === 401 || status === 403) {
      this.#isRefused = true;
      this.#deps.onConnection({ kind: 'unauthorized', status });
      this.#retryAfter(longestRetryMs);
      return;
    }
    if (this.#isRefused) this.#deps.onConnection({ kind: 'reconnecting', why });
    this.#isRefused = false;
    this.#retryAfter(this.#backoffMs());
  }

  #backoffMs(): number {
    const doubled = shortestRetryMs * 2 ** Math.min(this.#failures - 1, 10);
    const jittered = Math.min(doubled, longestRetryMs) * (0.75 + this.#deps.random() / 2);
    return Math.min(Math.max(jittered, shortestRetryMs), longestRetryMs);
  }

  #retryAfter(ms: number): void {
    this.#after('retry', ms, () => {
      this.#connect();
    });
  }

  #close(): void {
    this.#source?.close();
    this.#source = undefined;
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }

  #after(name: 'retry' | 'silence' | 'settled', ms: number, act: () => void): void {
    clearTimeout(this.#timers.get(name));
    this.#timers.set(name, setTimeout(act, ms));
  }
}

function urlOf({ health, pod }: StreamWants): string {
  const query = new URLSearchParams();
  if (pod !== undefined) query.set('pod', pod);
  if (health === true) query.set('health', '1');
  const text = query.toString();
  return text === '' ? 'api/stream' : `api/stream?${text}`;
}

function parsed(name: StreamMessage['name'], text: string): StreamMessage | undefined {
  try {
    const data: unknown = JSON.parse(text);
    return { name, data } as StreamMessage;
  } catch {
    return undefined;
  }
}
