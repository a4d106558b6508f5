// Searches the kept lines in a worker, batch by batch as they arrive. Invariants: one batch is with the worker at a time; a worker
// that does not answer within limitMs is terminated and the search ends with a message; the page's thread runs no expression.
import type { KeptLine } from './log-ring.ts';
import { compile, type Ranges } from './matcher.ts';
import type { SearchAnswer, SearchRequest } from './search-protocol.ts';

export interface SearchWorker {
  post(request: SearchRequest): void;
  terminate(): void;
}

/** Starts a worker; it cannot be started or has failed: `onFailure`. */
export type CreateSearchWorker = (
  onAnswer: (answer: SearchAnswer) => void,
  onFailure: () => void,
) => SearchWorker;

interface SearcherDeps {
  readonly createWorker: CreateSearchWorker;
  readonly lines: { since(number: number): readonly KeptLine[]; readonly first: number };
  /** Matches or the message have changed. */
  readonly onChange: () => void;
}

export const limitMs = 2_000;
export const tooSlow = `The expression took longer than ${limitMs / 1_000} s for a few lines, so the search was stopped. Simplify it.`;
const maxBatchLines = 2_000;
const maxBatchLength = 256 * 1024;

export class Searcher {
  readonly #deps: SearcherDeps;
  #worker: SearchWorker | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #pattern = '';
  /** The next line to search. */
  #next = 0;
  readonly #found = new Map<number, Ranges>();
  problem = '';

  constructor(deps: SearcherDeps) {
    this.#deps = deps;
  }

  get pattern(): string {
    return this.#pattern;
  }

  get count(): number {
    return this.#found.size;
  }

  /** Every line before this one was searched. */
  get searched(): number {
    return this.#next;
  }

  get isActive(): boolean {
    return this.#pattern !== '' && this.problem === '';
  }

  ranges(number: number): Ranges | undefined {
    return this.#found.get(number);
  }

  /** The numbers of the lines that match, in order. */
  numbers(): readonly number[] {
    return [...this.#found.keys()];
  }

  search(pattern: string): void {
    if (pattern === this.#pattern) return;
    this.reset();
    this.#pattern = pattern;
    const compiled = pattern === '' ? undefined : compile(pattern);
    this.problem = compiled !== undefined && 'problem' in compiled ? compiled.problem : '';
    this.poke();
    this.#deps.onChange();
  }

  /** The kept lines are other ones. */
  reset(): void {
    this.#found.clear();
    this.#next = 0;
    // Its answer would be for the earlier lines.
    if (this.#timer !== undefined) this.stop();
  }

  /** There are further lines. */
  poke(): void {
    if (!this.isActive || this.#timer !== undefined) return;
    const first = Math.max(this.#next, this.#deps.lines.first);
    const texts: string[] = [];
    let length = 0;
    for (const { x } of this.#deps.lines.since(first)) {
      texts.push(x);
      length += x.length;
      if (texts.length >= maxBatchLines || length >= maxBatchLength) break;
    }
    if (texts.length === 0) return;
    this.#worker ??= this.#start();
    this.#timer = setTimeout(() => this.#giveUp(tooSlow), limitMs);
    this.#worker.post({ do: 'match', pattern: this.#pattern, first, texts });
    this.#next = first + texts.length;
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#worker?.terminate();
    this.#worker = undefined;
  }

  #start(): SearchWorker {
    return this.#deps.createWorker(
      (answer) => this.#take(answer),
      () => this.#giveUp('The search could not be started.'),
    );
  }

  #take(answer: SearchAnswer): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (answer.is === 'done') this.problem = answer.problem ?? '';
    if (answer.is === 'matched') for (const [number, ranges] of answer.found) this.#found.set(number, ranges);
    for (const number of this.#found.keys()) {
      if (number >= this.#deps.lines.first) break;
      this.#found.delete(number);
    }
    this.poke();
    this.#deps.onChange();
  }

  #giveUp(problem: string): void {
    this.stop();
    this.problem = problem;
    this.#deps.onChange();
  }
}
