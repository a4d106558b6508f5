// Work that several callers wait for, each with its own signal.
// Invariants: it runs at most once at a time; it is aborted when its last caller has given up; a failure is not kept.
import { raceAbort } from '../../base/abort/race-abort.ts';
import { Aborted } from '../../base/errors.ts';

interface Run<T> {
  readonly result: Promise<T>;
  readonly stop: AbortController;
  waiting: number;
}

export class SharedWork<T> {
  readonly #work: (signal: AbortSignal) => Promise<T>;
  #run: Run<T> | undefined;
  #done: { readonly result: T } | undefined;

  constructor(work: (signal: AbortSignal) => Promise<T>) {
    this.#work = work;
  }

  /** Rejects as the work does, or with the signal's reason. */
  async join(signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    if (this.#done !== undefined) return this.#done.result;
    const run = this.#run ?? this.#start();
    run.waiting += 1;
    try {
      return await raceAbort(run.result, signal);
    } finally {
      run.waiting -= 1;
      if (run.waiting === 0) this.#end(run);
    }
  }

  #start(): Run<T> {
    const stop = new AbortController();
    const result = this.#work(stop.signal).then((value) => {
      this.#done = { result: value };
      return value;
    });
    const run: Run<T> = { result, stop, waiting: 0 };
    this.#run = run;
    result.catch(() => {
      if (this.#run === run) this.#run = undefined;
    });
    return run;
  }

  #end(run: Run<T>): void {
    if (this.#run === run) this.#run = undefined;
    run.stop.abort(new Aborted('no caller waits any longer'));
  }
}
