// The mounts of one pod: attempts in flight, and failures with their backoff.
// Invariants: one attempt per volume at a time; after a failure, no attempt before the backoff is over or retryNow() is called;
// once closed, no attempt starts and no timer fires.
import { setMaxListeners } from 'node:events';
import type { Pod } from '../api/k8s/types.ts';
import type { PodActivity } from '../api/ports/pod-activity.ts';
import { Channel } from '../base/channel.ts';
import type { Clock, Timer } from '../base/clock.ts';
import { Aborted, describeError } from '../base/errors.ts';
import type { SetUpVolume, VolumeSpec } from './plugin.ts';

interface Failure {
  readonly error: unknown;
  readonly count: number;
  /** Wall clock, of the first failure in a row. */
  readonly sinceMs: number;
  readonly retryAtMs: number;
}

/** Upstream: goroutinemap/exponentialbackoff. */
const firstRetryMs = 500;
const maxRetryMs = 122_000;

interface PodMountsListener {
  /** A backoff is over. */
  readonly onRetry: () => void;
  /** The kind of a volume is known now. */
  readonly onResolved: (spec: VolumeSpec) => void;
}

export class PodMounts {
  pod: Pod;
  /** Announces that a volume waits for something that other pods need not wait for. */
  readonly waits = new Channel<void>();
  readonly #lifetime = new AbortController();
  readonly #attempts = new Map<string, Promise<void>>();
  /** Operations on the host in flight: they may outlive the attempt that was aborted. */
  readonly #operations = new Set<Promise<unknown>>();
  /** Wall clock, of the attempt in flight. */
  readonly #startedAtMs = new Map<string, number>();
  readonly #failures = new Map<string, Failure>();
  /** What the attempt in flight waits for, by volume. */
  readonly #missing = new Map<string, string>();
  /** By place on disk: a persistent volume that the pod uses under several names is set up once. */
  readonly #setUp = new Map<string, SetUpVolume>();
  /** Resolved volumes, by name. */
  readonly #specs = new Map<string, VolumeSpec>();
  /** The names of volumes whose set-up has begun. */
  readonly #attempted = new Set<string>();
  readonly #clock: Clock;
  readonly #listener: PodMountsListener;
  #retry: Timer | undefined;

  constructor(pod: Pod, clock: Clock, listener: PodMountsListener) {
    this.pod = pod;
    this.#clock = clock;
    this.#listener = listener;
    // Each volume adds a listener, and a pod may have many volumes.
    setMaxListeners(0, this.#lifetime.signal);
  }

  get signal(): AbortSignal {
    return this.#lifetime.signal;
  }

  get isClosed(): boolean {
    return this.#lifetime.signal.aborted;
  }

  /** Joins the attempt in flight or starts one. While the volume backs off, rejects with its last failure instead. */
  attempt(volume: string, run: () => Promise<void>): Promise<void> {
    const running = this.#attempts.get(volume);
    if (running !== undefined) return running;
    const failure = this.#failures.get(volume);
    if (failure !== undefined && this.#clock.monotonic() < failure.retryAtMs)
      return Promise.reject(failure.error);
    this.#startedAtMs.set(volume, this.#clock.now());
    const attempt = run().finally(() => {
      this.#attempts.delete(volume);
      this.#startedAtMs.delete(volume);
      this.#missing.delete(volume);
    });
    this.#attempts.set(volume, attempt);
    return attempt;
  }

  /** What the attempt in flight waits for; undefined: it no longer waits. */
  waitsFor(volume: string, missing: string | undefined): void {
    if (missing === undefined) this.#missing.delete(volume);
    else {
      this.#missing.set(volume, missing);
      this.waits.push();
    }
  }

  /** Runs an operation on the host that close() waits for, although the attempt no longer does. */
  async operate<T>(run: () => Promise<T>): Promise<T> {
    const operation = run();
    this.#operations.add(operation);
    try {
      return await operation;
    } finally {
      this.#operations.delete(operation);
    }
  }

  wasSetUp(place: string, volume: SetUpVolume): void {
    this.#setUp.set(place, volume);
  }

  /** The volume that was set up at this place for the pod, in this process. */
  setUpAt(place: string): SetUpVolume | undefined {
    return this.#setUp.get(place);
  }

  resolved(spec: VolumeSpec): void {
    this.#specs.set(spec.name, spec);
    this.#listener.onResolved(spec);
  }

  specs(): readonly VolumeSpec[] {
    return [...this.#specs.values()];
  }

  /** The set-up of the volume begins. */
  begin(volume: string): void {
    this.#attempted.add(volume);
  }

  /** Whether the set-up of the volume has begun, and nothing is being torn down. */
  isAttempted(volume: string): boolean {
    return !this.isClosed && this.#attempted.has(volume);
  }

  succeeded(volume: string): void {
    this.#failures.delete(volume);
  }

  /** Records a failure and schedules a retry. Returns the delay until the next attempt. */
  failed(volume: string, error: unknown): number {
    const before = this.#failures.get(volume);
    const count = (before?.count ?? 0) + 1;
    const sinceMs = before?.sinceMs ?? this.#clock.now();
    const waitMs = Math.min(firstRetryMs * 2 ** (count - 1), maxRetryMs);
    this.#failures.set(volume, { error, count, sinceMs, retryAtMs: this.#clock.monotonic() + waitMs });
    this.#scheduleRetry();
    return waitMs;
  }

  /** Ends the backoff of a failed volume. False if the volume has not failed. */
  retryNow(volume: string): boolean {
    const failure = this.#failures.get(volume);
    if (failure === undefined) return false;
    this.#failures.set(volume, { ...failure, retryAtMs: 0 });
    return true;
  }

  /** Mounts in flight and failed mounts, for /explain. */
  activities(): readonly PodActivity[] {
    const mounting = [...this.#startedAtMs].map(([volume, sinceMs]) => {
      const missing = this.#missing.get(volume);
      const state = missing === undefined ? 'is being mounted' : `waits for ${missing}`;
      return { what: `volume ${volume} ${state}`, sinceMs };
    });
    const failed = [...this.#failures]
      .filter(([volume]) => !this.#startedAtMs.has(volume))
      .map(([volume, { count, error, sinceMs }]) => ({
        what: `volume ${volume} could not be mounted, ${count} attempts: ${describeError(error)}`,
        sinceMs,
      }));
    return [...mounting, ...failed];
  }

  /**
   * Aborts the attempts in flight. Resolves when they and their operations have ended, at the latest after graceMs: a mount that
   * completes after its volume was torn down would stay.
   */
  async close(graceMs: number): Promise<void> {
    this.#lifetime.abort(new Aborted('the volumes of the pod are being unmounted'));
    this.#retry?.cancel();
    const attempts = [...this.#attempts.values(), ...this.#operations];
    if (attempts.length === 0) return;
    const settled = new AbortController();
    const grace = this.#clock.sleep(graceMs, settled.signal).catch(() => undefined);
    await Promise.race([Promise.allSettled(attempts), grace]);
    settled.abort();
  }

  /** For the failure that is due next, and after it for the others. */
  #scheduleRetry(): void {
    this.#retry?.cancel();
    if (this.isClosed) return;
    const nowMs = this.#clock.monotonic();
    const dueMs = [...this.#failures.values()].map(({ retryAtMs }) => retryAtMs).filter((at) => at > nowMs);
    if (dueMs.length === 0) return;
    this.#retry = this.#clock.setTimer(Math.min(...dueMs) - nowMs, () => {
      this.#listener.onRetry();
      this.#scheduleRetry();
    });
  }
}
