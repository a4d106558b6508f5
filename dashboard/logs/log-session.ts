// The state of a log view outside of its components: the kept lines, the search and the connection. Components draw it at most once
// per frame. Invariant: while the viewer reads earlier lines, none of them is dropped: the connection waits instead.
import {
  type ConnectionState,
  type ContainerLogState,
  LogConnection,
  type SkippedLines,
} from './log-connection.ts';
import { LogRing, type SentLine } from './log-ring.ts';
import type { SearchAnswer } from './search-protocol.ts';
import { type CreateSearchWorker, Searcher } from './searcher.ts';

export interface LogChoice {
  readonly namespace: string;
  readonly pod: string;
  readonly containers: readonly string[];
  readonly previous: boolean;
}

/** The token that the page keeps for this browser tab. */
export function storedToken(): string | undefined {
  return sessionStorage.getItem('kubelet-token') ?? undefined;
}

/** The name of its file is fixed by the build. */
export const createSearchWorker: CreateSearchWorker = (onAnswer, onFailure) => {
  const worker = new Worker(new URL('search-worker.js', document.baseURI), { type: 'module' });
  worker.addEventListener('message', ({ data }: MessageEvent<SearchAnswer>) => onAnswer(data));
  worker.addEventListener('error', onFailure);
  return { post: (request) => worker.postMessage(request), terminate: () => worker.terminate() };
};

/** More lines per second are too many to be read out. */
const fastLinesPerSecond = 5;

export class LogSession {
  readonly ring = new LogRing();
  readonly searcher: Searcher;
  state: ConnectionState = { is: 'connecting' };
  containers: readonly ContainerLogState[] = [];
  readonly #choice: LogChoice;
  readonly #onChange: () => void;
  readonly #connection: LogConnection;
  #follows = true;
  #resume: (() => void) | undefined;
  /** The number of the next line when the viewer left the end. */
  #leftAt = 0;
  #secondStartMs = 0;
  #linesInSecond = 0;
  isFast = false;

  constructor(choice: LogChoice, onChange: () => void) {
    this.#choice = choice;
    this.#onChange = onChange;
    this.searcher = new Searcher({ createWorker: createSearchWorker, lines: this.ring, onChange });
    this.#connection = new LogConnection({
      url: logsUrl(choice),
      token: storedToken(),
      onLines: (lines) => this.#add(lines),
      onSkipped: (skipped) => this.#addNote(skipped),
      onContainers: (containers) => {
        this.containers = containers;
        onChange();
      },
      onState: (state) => {
        this.state = state;
        onChange();
      },
      mayRead: () => this.#mayRead(),
    });
  }

  start(): void {
    void this.#connection.run();
  }

  stop(): void {
    this.#connection.stop();
    this.searcher.stop();
    this.#resume?.();
  }

  get follows(): boolean {
    return this.#follows;
  }

  follow(follows: boolean): void {
    if (follows === this.#follows) return;
    this.#follows = follows;
    this.#leftAt = this.ring.next;
    if (follows) this.#resume?.();
    this.#onChange();
  }

  /** Since the viewer left the end. */
  get newLines(): number {
    return this.#follows ? 0 : this.ring.next - this.#leftAt;
  }

  get isHeld(): boolean {
    return this.#resume !== undefined;
  }

  /** For the button that returns to the end. */
  get newText(): string {
    const count = this.newLines;
    if (count === 0) return 'Follow';
    return `${count}${this.isHeld ? ' or more' : ''} new ${count === 1 ? 'line' : 'lines'}`;
  }

  /** What a viewer should know besides the lines. */
  notices(): readonly string[] {
    const { state } = this;
    const texts = this.containers.flatMap(({ name, problem }) =>
      problem === undefined ? [] : [`${name}: ${problem.trim()}`],
    );
    if (state.is === 'refused' || state.is === 'ended') texts.push(state.why);
    else if (state.is === 'reconnecting') texts.push('Reconnecting to the kubelet …');
    else if (state.is === 'connected' && this.ring.size === 0 && texts.length === 0)
      texts.push('No output yet.');
    return texts;
  }

  /** The match after this line, or before it; of all matches if there is none. */
  step(current: number | undefined, by: 1 | -1): number | undefined {
    const numbers = this.searcher.numbers();
    if (by > 0) return numbers.find((number) => number > (current ?? -1)) ?? numbers[0];
    return numbers.findLast((number) => number < (current ?? Number.POSITIVE_INFINITY)) ?? numbers.at(-1);
  }

  /** How many lines match, and which of them is the current one. */
  matchText(current: number | undefined): string {
    const { searcher } = this;
    if (!searcher.isActive) return '';
    const place = current === undefined ? 0 : searcher.numbers().indexOf(current) + 1;
    const lines = searcher.count === 1 ? '1 line' : `${searcher.count} lines`;
    return place > 0 ? `${place} of ${lines}` : lines;
  }

  #mayRead(): Promise<void> {
    if (this.#follows || !this.ring.isFull) return Promise.resolve();
    return new Promise((resolve) => {
      this.#resume = () => {
        this.#resume = undefined;
        resolve();
      };
      this.#onChange();
    });
  }

  #add(lines: readonly SentLine[]): void {
    for (const line of lines) this.ring.push(line);
    const nowMs = performance.now();
    if (nowMs - this.#secondStartMs > 1_000) {
      this.isFast = this.#linesInSecond > fastLinesPerSecond;
      this.#secondStartMs = nowMs;
      this.#linesInSecond = 0;
    }
    this.#linesInSecond += lines.length;
    if (this.#linesInSecond > fastLinesPerSecond) this.isFast = true;
    this.searcher.poke();
    this.#onChange();
  }

  #addNote({ container, from, to }: SkippedLines): void {
    const c = this.#choice.containers.indexOf(container);
    const since = from === '' ? '' : ` from ${timeOfDay(from)}`;
    this.ring.push({ c, t: to, x: `Output was skipped${since} to ${timeOfDay(to)}` }, true);
    this.#onChange();
  }
}

/** In UTC, as the kubelet writes it. */
export function timeOfDay(time: string): string {
  return time.slice(11, 23);
}

function logsUrl({ containers, namespace, pod, previous }: LogChoice): string {
  const query = new URLSearchParams({ containers: containers.join(','), tail: '1000' });
  query.set(previous ? 'previous' : 'follow', 'true');
  return `api/logs/${encodeURIComponent(namespace)}/${encodeURIComponent(pod)}?${query}`;
}

/** The whole log of one container, with times. */
export function containerLogUrl({ namespace, pod, previous }: LogChoice, container: string): string {
  const path = [namespace, pod, container].map(encodeURIComponent).join('/');
  return `../containerLogs/${path}?timestamps=true${previous ? '&previous=true' : ''}`;
}
