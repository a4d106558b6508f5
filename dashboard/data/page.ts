// The page's data and its one connection to the kubelet: state, samples, access, token. Components read it by the hooks in
// use-page.ts. Sole writer of the state.
import { type Access, initialState, type PageState, reduce } from './state.ts';
import { PageStream, type StreamWants } from './stream.ts';
import { UsageHistory } from './usage-history.ts';

const tokenKey = 'kubelet-token';
const accessTimeoutMs = 5_000;

type Listener = () => void;

export class Page {
  readonly history = new UsageHistory();
  readonly #onState = new Set<Listener>();
  readonly #onSample = new Set<Listener>();
  readonly #stream: PageStream;
  #state: PageState = initialState;

  constructor() {
    this.#stream = new PageStream({
      open: (url) => new EventSource(url),
      status: async () => (await this.#fetchAccess()).status,
      random: Math.random,
      onMessage: (message, pod) => {
        const isSample = message.name === 'usage' || message.name === 'samples';
        this.#set(reduce(this.#state, message, { history: this.history, nowMs: Date.now(), pod }), isSample);
        if (message.name === 'hello') void this.#readAccess();
        if (isSample) for (const listen of this.#onSample) listen();
      },
      onConnection: (connection) => {
        this.#set({ ...this.#state, connection });
      },
    });
  }

  /** Connects while the document is visible, until the page is closed. */
  start(): void {
    const follow = () => {
      if (document.visibilityState === 'hidden') this.#stream.pause();
      else this.#stream.resume();
    };
    document.addEventListener('visibilitychange', follow);
    follow();
  }

  get state(): PageState {
    return this.#state;
  }

  /** The kubelet's wall clock. */
  nowMs(): number {
    return Date.now() + this.#state.clockOffsetMs;
  }

  subscribe(listen: Listener): () => void {
    this.#onState.add(listen);
    return () => this.#onState.delete(listen);
  }

  /** Calls after every sample, which is no change of the state. */
  onSample(listen: Listener): () => void {
    this.#onSample.add(listen);
    return () => this.#onSample.delete(listen);
  }

  want(wants: StreamWants): void {
    this.#stream.want(wants);
  }

  retryNow(): void {
    this.#stream.retryNow();
  }

  get token(): string | undefined {
    return sessionStorage.getItem(tokenKey) ?? undefined;
  }

  setToken(token: string): void {
    sessionStorage.setItem(tokenKey, token);
    if (this.#state.connection.kind === 'connected') void this.#readAccess();
    else this.#stream.retryNow();
  }

  /** A request to the kubelet with the token, if the viewer has one. */
  fetch(url: string, signal: AbortSignal): Promise<Response> {
    const headers = this.token === undefined ? undefined : { authorization: `Bearer ${this.token}` };
    return fetch(url, { signal, cache: 'no-store', ...(headers === undefined ? {} : { headers }) });
  }

  #fetchAccess(): Promise<Response> {
    return this.fetch('api/access', AbortSignal.timeout(accessTimeoutMs));
  }

  async #readAccess(): Promise<void> {
    try {
      const response = await this.#fetchAccess();
      if (!response.ok) return;
      const { exec, logs } = (await response.json()) as Partial<Access>;
      this.#set({ ...this.#state, access: { logs: logs === true, exec: exec === true } });
    } catch {
      // The greeting's answer stays: the stream reports that the kubelet is unreachable.
    }
  }

  /** A sample changes nothing but the time of the last message, so components need not look. */
  #set(state: PageState, isSample = false): void {
    this.#state = state;
    if (isSample) return;
    for (const listen of this.#onState) listen();
  }
}
