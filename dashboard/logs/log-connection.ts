// Reads the merged logs of a pod from the kubelet and reconnects where it stopped. Invariants: the next piece is read only after the
// previous one was taken and while `mayRead` allows it, so that the kubelet, not the browser, skips output that is too much.
import { EventParser, type ServerEvent } from './event-parser.ts';
import type { SentLine } from './log-ring.ts';

export interface ContainerLogState {
  readonly name: string;
  readonly state: string;
  readonly problem?: string;
}

export interface SkippedLines {
  readonly container: string;
  readonly from: string;
  readonly to: string;
}

export type ConnectionState =
  | { readonly is: 'connecting' | 'connected' | 'reconnecting' }
  | { readonly is: 'refused' | 'ended'; readonly why: string };

interface LogConnectionDeps {
  readonly url: string;
  readonly token: string | undefined;
  readonly onLines: (lines: readonly SentLine[]) => void;
  readonly onSkipped: (skipped: SkippedLines) => void;
  readonly onContainers: (containers: readonly ContainerLogState[]) => void;
  readonly onState: (state: ConnectionState) => void;
  /** Resolves when further lines are wanted. */
  readonly mayRead: () => Promise<void>;
}

const shortestRetryMs = 500;
const longestRetryMs = 10_000;

export class LogConnection {
  readonly #deps: LogConnectionDeps;
  readonly #abort = new AbortController();
  #lastId = '';
  #retryMs = shortestRetryMs;
  #isComplete = false;

  constructor(deps: LogConnectionDeps) {
    this.#deps = deps;
  }

  async run(): Promise<void> {
    this.#deps.onState({ is: 'connecting' });
    while (!this.#abort.signal.aborted && !this.#isComplete) {
      try {
        await this.#connect();
      } catch (err) {
        if (this.#abort.signal.aborted) return;
        if (err instanceof SyntaxError) console.error(err);
        this.#deps.onState({ is: 'reconnecting' });
      }
      if (!this.#isComplete) await this.#sleep(this.#retryMs);
      this.#retryMs = Math.min(longestRetryMs, this.#retryMs * 2);
    }
  }

  stop(): void {
    this.#abort.abort();
  }

  async #connect(): Promise<void> {
    const { mayRead, onState, token, url } = this.#deps;
    const headers: Record<string, string> = { accept: 'text/event-stream' };
    if (token !== undefined) headers['authorization'] = `Bearer ${token}`;
    if (this.#lastId !== '') headers['last-event-id'] = this.#lastId;
    const response = await fetch(url, { headers, signal: this.#abort.signal, cache: 'no-store' });
    if (!response.ok || response.body === null) {
      onState({ is: 'refused', why: whyRefused(response.status, (await response.text()).slice(0, 500)) });
      this.#retryMs = Math.max(2_000, this.#retryMs);
      return;
    }
    onState({ is: 'connected' });
    this.#retryMs = shortestRetryMs;
    const parser = new EventParser(this.#lastId);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      await mayRead();
      const { done, value } = await reader.read();
      if (this.#abort.signal.aborted) return;
      if (done) break;
      for (const event of parser.push(value)) this.#take(event);
    }
    if (!this.#isComplete) onState({ is: 'reconnecting' });
  }

  #take({ data, event, id }: ServerEvent): void {
    this.#lastId = id;
    const parsed: readonly unknown[] = data.map((text) => JSON.parse(text));
    if (event === 'message') this.#deps.onLines(parsed as readonly SentLine[]);
    else if (event === 'skipped') this.#deps.onSkipped(parsed[0] as SkippedLines);
    else if (event === 'containers') this.#deps.onContainers(parsed[0] as readonly ContainerLogState[]);
    else if (event === 'end') this.#end(parsed[0] as { readonly why: string; readonly retryMs?: number });
  }

  #end({ retryMs, why }: { readonly why: string; readonly retryMs?: number }): void {
    if (retryMs !== undefined) {
      this.#retryMs = Math.min(longestRetryMs, Math.max(100, retryMs));
      return;
    }
    this.#isComplete = true;
    this.#deps.onState({ is: 'ended', why });
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#abort.signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.#abort.signal.addEventListener('abort', done);
    });
  }
}

function whyRefused(status: number, text: string): string {
  if (status === 401) return 'Not authorized: the kubelet does not know these credentials.';
  if (status === 403) return 'Not allowed: these credentials may not read logs.';
  return text.trim() === '' ? `The kubelet answered with status ${status}.` : text.trim();
}
