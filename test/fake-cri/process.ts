// A process of the fake runtime: runs a program on the injected clock, receives signals, exits with a code.
// Invariants: it exits exactly once; after its exit nothing it does has an effect; SIGKILL ends it at once; as init of
// its PID namespace it ignores signals without a handler, as on Linux.
import { setMaxListeners } from 'node:events';
import type { Clock } from '../../src/base/clock.ts';

/** What a process runs; see programs.ts, or a test's own. Resolves to the exit code. */
export type Program = (process: FakeProcess) => Promise<number>;

interface ProcessDeps {
  readonly clock: Clock;
  readonly program: Program;
  readonly args: readonly string[];
  readonly env: ReadonlyMap<string, string>;
  /** The file system of the container, shared by its processes. */
  readonly files: Map<string, string>;
  /** Whether this is the init process of its PID namespace. */
  readonly isInit: boolean;
  readonly memoryLimitBytes: number;
  readonly write: (stream: 'stdout' | 'stderr', text: string) => void;
  readonly onExit: (exit: Exit) => void;
}

export interface Exit {
  readonly code: number;
  readonly oomKilled: boolean;
}

export type SignalName = 'HUP' | 'INT' | 'QUIT' | 'KILL' | 'USR1' | 'USR2' | 'TERM';

export const signalNumbers: Readonly<Record<SignalName, number>> = {
  HUP: 1,
  INT: 2,
  QUIT: 3,
  KILL: 9,
  USR1: 10,
  USR2: 12,
  TERM: 15,
};

/** Thrown inside a program whose process has ended, to unwind it. */
class Ended extends Error {
  override readonly name = 'AbortError';
}

export class FakeProcess {
  readonly deps: ProcessDeps;
  readonly #ended = new AbortController();
  readonly #handlers = new Map<SignalName, () => void>();
  #exit: Exit | undefined;

  constructor(deps: ProcessDeps) {
    this.deps = deps;
    setMaxListeners(0, this.#ended.signal);
  }

  get exit(): Exit | undefined {
    return this.#exit;
  }

  start(): void {
    // In a turn of its own, so that an error of the program cannot fail the start.
    Promise.resolve()
      .then(() => this.deps.program(this))
      .then(
        (code) => this.end(code),
        (err: unknown) => {
          if (this.#exit !== undefined) return;
          this.write('stderr', `${String(err)}\n`);
          this.end(255);
        },
      );
  }

  /** Ends the process, from inside or outside. */
  end(code: number, oomKilled = false): void {
    if (this.#exit !== undefined) return;
    this.#exit = { code: code & 0xff, oomKilled };
    this.#ended.abort(new Ended('the process has exited'));
    this.deps.onExit(this.#exit);
  }

  signal(name: SignalName): void {
    if (this.#exit !== undefined) return;
    if (name === 'KILL') {
      this.end(128 + signalNumbers.KILL);
      return;
    }
    const handler = this.#handlers.get(name);
    if (handler !== undefined) handler();
    else if (!this.deps.isInit) this.end(128 + signalNumbers[name]);
  }

  /** Undefined restores the signal's default action; an empty handler ignores the signal. */
  onSignal(name: SignalName, handler: (() => void) | undefined): void {
    if (handler === undefined) this.#handlers.delete(name);
    else this.#handlers.set(name, handler);
  }

  async sleep(ms: number): Promise<void> {
    await this.deps.clock.sleep(ms, this.#ended.signal);
  }

  /** Never resolves; rejects when the process ends. */
  forever(): Promise<never> {
    return new Promise((_resolve, reject) => this.whenEnded(reject));
  }

  whenEnded(fn: (reason: unknown) => void): void {
    const { signal } = this.#ended;
    if (signal.aborted) fn(signal.reason);
    else signal.addEventListener('abort', () => fn(signal.reason), { once: true });
  }

  write(stream: 'stdout' | 'stderr', text: string): void {
    if (this.#exit === undefined) this.deps.write(stream, text);
  }

  /** Allocates memory without end: OOM-killed if there is a limit, otherwise it runs on. */
  async exhaustMemory(): Promise<never> {
    if (this.deps.memoryLimitBytes > 0) this.end(128 + signalNumbers.KILL, true);
    return this.forever();
  }
}
