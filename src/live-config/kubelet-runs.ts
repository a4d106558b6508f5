// Runs one kubelet after the other in the same process: a restart in place stops the current one and begins the next.
// Invariants: at most one kubelet runs; a request that arrives while none runs is taken up by the next run.
import type { Clock } from '../base/clock.ts';
import { Aborted } from '../base/errors.ts';
import type { Candidate, RunHooks, RunningKubelet } from './candidate.ts';

interface KubeletRunsDeps<Run> {
  readonly runKubelet: (run: Run, hooks: RunHooks<Run>, signal: AbortSignal) => Promise<number>;
  readonly onBegin: (candidate: Candidate<Run>) => void;
  readonly onStarted: () => void;
  /** What to run instead; undefined if there is no alternative. */
  readonly onFailure: (failure: unknown) => Promise<Candidate<Run> | undefined>;
  readonly clock: Pick<Clock, 'monotonic'>;
}

type RunEnd = { readonly exitCode: number } | { readonly failure: unknown };

export class KubeletRuns<Run> {
  readonly #deps: KubeletRunsDeps<Run>;
  #next: Candidate<Run> | undefined;
  #life = new AbortController();
  #kubelet: RunningKubelet<Run> | undefined;
  #startingSinceMs: number | undefined;

  constructor(deps: KubeletRunsDeps<Run>) {
    this.#deps = deps;
  }

  /** The current kubelet, once it is assembled. */
  get kubelet(): RunningKubelet<Run> | undefined {
    return this.#kubelet;
  }

  /** Undefined once all components of the current kubelet are ready. */
  get startingSinceMs(): number | undefined {
    return this.#startingSinceMs;
  }

  get isRestarting(): boolean {
    return this.#next !== undefined;
  }

  /** Restarts in place. */
  restart(candidate: Candidate<Run>): void {
    this.#next = candidate;
    this.#startingSinceMs = this.#deps.clock.monotonic();
    this.#life.abort(new Aborted('the kubelet restarts for a changed configuration'));
  }

  /** Resolves to the exit code of the last kubelet; rejects with its failure. */
  async run(first: Candidate<Run>, signal: AbortSignal): Promise<number> {
    for (let candidate = first; ; ) {
      const end = await this.#runOne(candidate, signal);
      let next: Candidate<Run> | undefined;
      if (!signal.aborted) {
        if (this.#next === undefined && 'failure' in end) next = await this.#deps.onFailure(end.failure);
        // Set meanwhile, it is the latest wish.
        next = this.#next ?? next;
      }
      this.#next = undefined;
      if (next === undefined) {
        if ('failure' in end) throw end.failure;
        return end.exitCode;
      }
      candidate = next;
    }
  }

  async #runOne(candidate: Candidate<Run>, signal: AbortSignal): Promise<RunEnd> {
    const { clock, onBegin, onStarted, runKubelet } = this.#deps;
    const life = new AbortController();
    const onAbort = (): void => life.abort(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    this.#life = life;
    this.#startingSinceMs = clock.monotonic();
    onBegin(candidate);
    const hooks: RunHooks<Run> = {
      assembled: (kubelet) => {
        this.#kubelet = kubelet;
      },
      started: () => {
        this.#startingSinceMs = undefined;
        onStarted();
      },
    };
    try {
      return { exitCode: await runKubelet(candidate.run, hooks, life.signal) };
    } catch (failure) {
      return { failure };
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#kubelet = undefined;
    }
  }
}
