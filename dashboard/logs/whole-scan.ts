// Searches the whole logs of containers, one after the other, in a worker that reads them from the kubelet. Invariants: a worker
// whose expression runs for longer than limitMs is terminated; at most maxFound lines are kept.
import type { FoundLine, SearchAnswer } from './search-protocol.ts';
import { type CreateSearchWorker, limitMs, type SearchWorker, tooSlow } from './searcher.ts';

interface WholeScanDeps {
  readonly createWorker: CreateSearchWorker;
  readonly urlOf: (container: string) => string;
  readonly token: string | undefined;
  readonly onChange: () => void;
}

const maxFound = 1_000;

export class WholeScan {
  readonly #deps: WholeScanDeps;
  readonly pattern: string;
  readonly found: FoundLine[] = [];
  bytes = 0;
  problem = '';
  isRunning = true;
  /** There are more matches than are kept. */
  isFull = false;
  readonly #left: string[];
  #worker: SearchWorker | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(pattern: string, containers: readonly string[], deps: WholeScanDeps) {
    this.pattern = pattern;
    this.#left = [...containers];
    this.#deps = deps;
  }

  start(): void {
    this.#worker = this.#deps.createWorker(
      (answer) => this.#take(answer),
      () => this.#end('The search could not be started.'),
    );
    this.#next();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#worker?.terminate();
    this.isRunning = false;
  }

  #next(): void {
    const container = this.#left.shift();
    if (container === undefined) {
      this.#end('');
      return;
    }
    const { token, urlOf } = this.#deps;
    const url = urlOf(container);
    this.#worker?.post({ do: 'scan', pattern: this.pattern, url, token, container });
  }

  #take(answer: SearchAnswer): void {
    clearTimeout(this.#timer);
    if (answer.is === 'busy') {
      this.#timer = setTimeout(() => this.#end(tooSlow), limitMs);
    } else if (answer.is === 'progress') {
      this.bytes += answer.bytes;
      this.found.push(...answer.found.slice(0, maxFound - this.found.length));
      this.isFull = this.found.length >= maxFound;
      if (this.isFull) this.#end('');
    } else if (answer.is === 'done') {
      if (answer.problem !== undefined) this.problem = answer.problem;
      this.#next();
    }
    this.#deps.onChange();
  }

  #end(problem: string): void {
    this.stop();
    if (problem !== '') this.problem = problem;
    this.#deps.onChange();
  }
}
