// systemd-logind in memory: delay locks, a limit, shutdowns that wait for the locks, and their cancellation.
// Invariant: a shutdown proceeds once, when the last lock is released or lost; logind forgets a lock that is lost.
import type { InhibitorLock, Logind, LogindSession } from '../../src/api/ports/logind.ts';
import { KubeletError } from '../../src/base/errors.ts';

interface OpenSession {
  readonly onPrepare: (active: boolean) => void;
  readonly end: (cause: string) => void;
}

export class FakeLogind implements Logind {
  /** No logind on the bus, or no bus. */
  isAbsent = false;
  /** Why locks are refused. */
  refusal: string | undefined;
  limitMs = 5_000;
  /** Whether logind applies a raised limit. */
  appliesLimit = true;
  /** Why its configuration cannot be written. */
  writeFailure: string | undefined;
  isPreparing = false;
  /** The limits that were configured. */
  readonly raised: number[] = [];
  /** How often a lock was taken. */
  taken = 0;
  connects = 0;
  /** Called after the state was read, before the reply arrives. */
  afterRead: () => void = () => undefined;
  /** Called when a shutdown no longer waits. */
  onProceed: () => void = () => undefined;
  readonly #sessions = new Set<OpenSession>();
  readonly #locks = new Map<number, (cause: string) => void>();

  get locks(): number {
    return this.#locks.size;
  }

  get sessions(): number {
    return this.#sessions.size;
  }

  async connect(onPrepare: (active: boolean) => void): Promise<LogindSession> {
    this.connects++;
    this.#check();
    let resolveEnded = (_cause: string): void => undefined;
    const ended = new Promise<string>((resolve) => {
      resolveEnded = resolve;
    });
    const session: OpenSession = {
      onPrepare,
      end: (cause) => {
        this.#sessions.delete(session);
        resolveEnded(cause);
      },
    };
    this.#sessions.add(session);
    const call = <T>(work: () => T): Promise<T> =>
      new Promise<T>((resolve) => {
        if (!this.#sessions.has(session))
          throw new KubeletError('unavailable', 'Disconnected', 'no connection');
        this.#check();
        resolve(work());
      });
    return {
      ended,
      delayLimitMs: () => call(() => this.limitMs),
      isPreparing: () =>
        call(() => {
          const value = this.isPreparing;
          this.afterRead();
          return value;
        }),
      raiseDelayLimit: (seconds) => call(() => this.#raise(seconds)),
      takeLock: () => call(() => this.#take()),
      close: () => session.end('closed'),
    };
  }

  /** A shutdown begins, or is cancelled. */
  prepare(active: boolean): void {
    this.isPreparing = active;
    for (const { onPrepare } of this.#sessions) onPrepare(active);
  }

  /** As when logind or the bus is stopped: connections and locks are lost. */
  stop(cause = 'logind was stopped'): void {
    this.isAbsent = true;
    for (const session of this.#sessions) session.end(cause);
    this.loseLocks(cause);
  }

  restart(): void {
    this.stop('logind was restarted');
    this.isAbsent = false;
  }

  /** As when the holders of the locks are killed. */
  loseLocks(cause = 'killed'): void {
    for (const [id, lose] of this.#locks) {
      this.#drop(id);
      lose(cause);
    }
  }

  #check(): void {
    if (this.isAbsent) throw new KubeletError('unavailable', 'NoLogind', 'logind is absent');
  }

  #raise(seconds: number): void {
    if (this.writeFailure !== undefined) throw new KubeletError('internal', 'EROFS', this.writeFailure);
    this.raised.push(seconds);
    if (this.appliesLimit) this.limitMs = seconds * 1_000;
  }

  #take(): InhibitorLock {
    const refusal = this.isPreparing ? 'the operation is already running' : this.refusal;
    if (refusal !== undefined) throw new KubeletError('unavailable', 'NoInhibitorLock', refusal);
    const id = ++this.taken;
    const lost = new Promise<string>((resolve) => void this.#locks.set(id, resolve));
    return { lost, release: async () => this.#drop(id) };
  }

  #drop(id: number): void {
    if (!this.#locks.delete(id) || this.#locks.size > 0 || !this.isPreparing) return;
    this.onProceed();
  }
}
