// Keeps a session with logind and a delay lock while shutdown grace periods are configured. A loop with one key.
// Upstream: Start and start in pkg/kubelet/nodeshutdown/nodeshutdown_manager_linux.go.
// Invariants: at most one lock; a new session takes a new lock before the old one is released; a failure of any step is retried,
// also that of the first; a state of logind that was not signalled is found when a session begins.
import type { InhibitorLock, Logind, LogindSession } from '../api/ports/logind.ts';
import { raceAbort } from '../base/abort/race-abort.ts';
import type { Clock } from '../base/clock.ts';
import type { LoopLoad } from '../base/component.ts';
import { Aborted, describeError } from '../base/errors.ts';
import { KeyedQueue } from '../base/keyed-queue.ts';
import type { Logger } from '../base/log/log.ts';
import { type GraceGroup, totalSeconds } from './grace-groups.ts';
import { fitGroups } from './plan-shutdown.ts';

interface LockKeeperDeps {
  readonly logind: Logind;
  /** Read again for each lock. */
  readonly groups: () => readonly GraceGroup[];
  /** `isResumed`: the shutdown began before this session. Called again for a known state. */
  readonly prepared: (active: boolean, isResumed: boolean) => void;
  /** What `prepared` reported last. */
  readonly isShuttingDown: () => boolean;
  /** logind grants less than the groups need; undefined: it grants enough. */
  readonly limited: (limit: GrantedDelay | undefined) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What logind grants, and what is left of each group. */
export interface GrantedDelay {
  readonly limitSeconds: number;
  readonly neededSeconds: number;
  readonly groups: readonly GraceGroup[];
  /** Why the limit could not be raised. */
  readonly cause: string;
}

const reconnectMs = 1_000;
const backoff = { initialMs: 1_000, maxMs: 30_000 };
/** Pauses before the limit is read again, while logind applies its configuration. */
const reloadPausesMs = [100, 200, 400, 800, 1_600];

export class LockKeeper {
  readonly #deps: LockKeeperDeps;
  readonly #queue: KeyedQueue<'lock'>;
  #session: LogindSession | undefined;
  #lock: { readonly held: InhibitorLock; readonly session: LogindSession } | undefined;
  #limitMs: number | undefined;
  /** False from release() to poke(): a lock that arrives late must not delay the shutdown. */
  #mayHold = true;
  /** Counts logind's signals. */
  #signals = 0;
  #lastFailure = '';
  /** Logged when the lock is taken again: a kubelet that stops loses it together with the other processes of its service. */
  #lostBy: string | undefined;
  #attempted: () => void = () => undefined;
  /** Resolves after the first attempt to take the lock, successful or not. */
  readonly attempted = new Promise<void>((resolve) => {
    this.#attempted = resolve;
  });

  constructor(deps: LockKeeperDeps) {
    this.#deps = deps;
    this.#queue = new KeyedQueue<'lock'>({
      clock: deps.clock,
      parallel: 1,
      backoff,
      run: (_key, signal) => this.#sync(signal).finally(() => this.#attempted()),
      onError: (_key, err, retryInMs) => this.#failed(err, retryInMs),
    });
  }

  /** The longest delay that logind grants; undefined until it was read. */
  get limitSeconds(): number | undefined {
    return this.#limitMs === undefined ? undefined : this.#limitMs / 1_000;
  }

  load(): LoopLoad {
    return this.#queue.load();
  }

  start(): void {
    this.#queue.add('lock');
    this.#queue.start();
  }

  /** The periods, the lock or the state of logind may have changed. Cheap, idempotent, safe from anywhere. */
  poke(): void {
    this.#mayHold = true;
    this.#queue.add('lock');
  }

  /** logind continues with the shutdown. The lock is taken again only after poke(). */
  async release(): Promise<void> {
    this.#mayHold = false;
    const lock = this.#lock;
    this.#lock = undefined;
    await lock?.held.release();
  }

  async stop(): Promise<void> {
    this.#queue.abortAll(new Aborted('the kubelet stops'));
    // Ends the calls in flight.
    this.#endSession();
    await this.#queue.stop();
    await this.release();
  }

  async #sync(signal: AbortSignal): Promise<void> {
    const { groups, isShuttingDown } = this.#deps;
    if (groups().length === 0 && !isShuttingDown()) {
      await this.release();
      this.#mayHold = true;
      this.#endSession();
      return;
    }
    const session = (this.#session ??= await this.#connect(signal));
    await this.#readState(session, signal);
    // logind grants no lock while a shutdown is in progress.
    if (isShuttingDown()) return;
    await this.#settleLimit(session, signal);
    await this.#takeLock(session, signal);
    this.#lastFailure = '';
  }

  async #readState(session: LogindSession, signal: AbortSignal): Promise<void> {
    const signalsBefore = this.#signals;
    const isPreparing = await session.isPreparing();
    signal.throwIfAborted();
    // A signal that arrives with the reply is newer than its value.
    if (this.#signals === signalsBefore) this.#deps.prepared(isPreparing, isPreparing);
  }

  async #connect(signal: AbortSignal): Promise<LogindSession> {
    const { logind, prepared } = this.#deps;
    const connecting = logind.connect((active) => {
      this.#signals++;
      prepared(active, false);
    });
    try {
      const session = await raceAbort(connecting, signal);
      void this.#reconnectAfter(session);
      return session;
    } catch (err) {
      connecting.then((late) => late.close()).catch(() => undefined);
      throw err;
    }
  }

  async #reconnectAfter(session: LogindSession): Promise<void> {
    const cause = await session.ended;
    session.close();
    if (this.#session !== session) return;
    this.#session = undefined;
    this.#deps.log.error('Lost the connection to systemd-logind, will reconnect', { cause });
    this.#queue.addAfter('lock', reconnectMs);
  }

  #endSession(): void {
    const session = this.#session;
    this.#session = undefined;
    session?.close();
  }

  /** Raises logind's limit if it is too low. differs from upstream: a limit that stays too low reduces the periods. */
  async #settleLimit(session: LogindSession, signal: AbortSignal): Promise<void> {
    const { limited, log } = this.#deps;
    const groups = this.#deps.groups();
    const neededSeconds = totalSeconds(groups);
    this.#limitMs = await session.delayLimitMs();
    if (this.#limitMs >= neededSeconds * 1_000) return limited(undefined);
    log.info('Raising the delay limit of systemd-logind', { limitMs: this.#limitMs, neededSeconds });
    const cause = await this.#raiseLimit(session, neededSeconds, signal);
    if (cause === undefined) return limited(undefined);
    const limitSeconds = this.#limitMs / 1_000;
    limited({ limitSeconds, neededSeconds, groups: fitGroups(groups, limitSeconds), cause });
  }

  /** Resolves with the cause if the limit stays too low. */
  async #raiseLimit(
    session: LogindSession,
    seconds: number,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    try {
      await session.raiseDelayLimit(seconds);
    } catch (err) {
      return describeError(err);
    }
    for (const pauseMs of reloadPausesMs) {
      await this.#deps.clock.sleep(pauseMs, signal);
      this.#limitMs = await session.delayLimitMs();
      if (this.#limitMs >= seconds * 1_000) return undefined;
    }
    return 'systemd-logind did not apply its configuration';
  }

  async #takeLock(session: LogindSession, signal: AbortSignal): Promise<void> {
    const { log } = this.#deps;
    if (this.#lock?.session === session) return;
    if (this.#lostBy !== undefined)
      log.error('Lost the inhibitor lock, taking it again', { cause: this.#lostBy });
    this.#lostBy = undefined;
    const held = await session.takeLock(signal);
    if (signal.aborted || !this.#mayHold) return await held.release();
    const before = this.#lock;
    this.#lock = { held, session };
    log.info('Holding the inhibitor lock for shutdowns', { limitSeconds: this.limitSeconds });
    void this.#retakeAfter(held);
    await before?.held.release();
  }

  async #retakeAfter(held: InhibitorLock): Promise<void> {
    const cause = await held.lost;
    if (this.#lock?.held !== held) return;
    this.#lock = undefined;
    const { isShuttingDown, log } = this.#deps;
    if (isShuttingDown()) log.error('Lost the inhibitor lock during the shutdown', { cause });
    else this.#lostBy = cause;
    this.#queue.addAfter('lock', reconnectMs);
  }

  #failed(err: unknown, retryInMs: number): void {
    const { log } = this.#deps;
    const text = describeError(err);
    const fields = { retryInMs, err };
    const message = 'Failed to take the inhibitor lock for shutdowns, will retry';
    if (text === this.#lastFailure) log.v(2).info(message, fields);
    else log.error(message, fields);
    this.#lastFailure = text;
  }
}
