// Rotates the logs of running containers by their size. Upstream: pkg/kubelet/logs (ContainerLogManager).
// Invariants: a log is rotated by one operation at once; at most maxWorkers rotations that make progress, and as many compressions,
// run in parallel, and a runtime that does not answer for one container delays no other; a silent container costs nothing between
// two writes; logs of containers that do not run are never rotated.
// differs from upstream: there sizes are read every containerLogMonitorInterval only, so that a container that writes 50 MB/s has
// 500 MB in its log whatever the limit.
import type { CriRuntime } from '../api/cri/runtime.ts';
import type { ObservedContainer, ObservedPod } from '../api/pod/observed.ts';
import type { ContainerId, PodUid } from '../api/pod/pod-ref.ts';
import { Quantity } from '../api/quantity/quantity.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Subscribable } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import { type Component, type LoopLoad, on } from '../base/component.ts';
import { isAbortOf, KubeletError } from '../base/errors.ts';
import { KeyedQueue } from '../base/keyed-queue.ts';
import type { LogFields, Logger } from '../base/log/log.ts';
import { sumLoads } from '../base/loop-load.ts';
import { Slots } from '../base/slots.ts';
import { LogSampler } from './log-sampler.ts';
import { quietMs } from './plan-rotation.ts';
import { type RotateDeps, reopenLog, rotateLog, tidyLog } from './rotate-log.ts';
import type { RotationHost } from './rotation-host.ts';
import { TrackedLog } from './tracked-log.ts';

interface LogRotationDeps {
  readonly observed: {
    get(uid: PodUid): ObservedPod | undefined;
    all(): ReadonlyMap<PodUid, ObservedPod>;
    readonly changed: Subscribable<PodUid>;
  };
  readonly cri: Pick<CriRuntime, 'reopenContainerLog'>;
  readonly host: RotationHost;
  readonly clock: Clock;
  readonly log: Logger;
  /** Read whenever they are used; after a change call settingsChanged(). */
  readonly settings: {
    /** The size at which a log is rotated. */
    readonly maxBytes: number;
    readonly maxFiles: number;
    readonly maxWorkers: number;
    readonly monitorIntervalMs: number;
    readonly podLogsDir: string;
  };
}

/** A rotation takes milliseconds; one that takes longer waits for the runtime and no longer counts as a worker. */
const workerLeaseMs = 100;

export class LogRotation implements Component {
  readonly name = 'log-rotation';
  readonly #deps: LogRotationDeps;
  readonly #rotateDeps: RotateDeps;
  readonly #logs = new Map<ContainerId, TrackedLog>();
  readonly #byPod = new Map<PodUid, ReadonlySet<ContainerId>>();
  readonly #sampler: LogSampler;
  readonly #workers: Slots;
  /** Opens the current file, or rotates it. */
  readonly #checks: KeyedQueue<ContainerId>;
  /** Removes leftovers and compresses. */
  readonly #tidying: KeyedQueue<ContainerId>;
  /** By the wall clock. */
  #startedAtMs = 0;
  #signal = new AbortController().signal;

  constructor(deps: LogRotationDeps) {
    this.#deps = deps;
    const { clock, cri, host, settings } = deps;
    this.#rotateDeps = {
      cri,
      host,
      clock,
      settings,
      onRemoveFailed: (log, file, err) => this.#warn(log, 'Failed to remove rotated log', { file, err }),
    };
    this.#workers = new Slots({
      clock,
      get count() {
        return settings.maxWorkers;
      },
      leaseMs: workerLeaseMs,
    });
    this.#sampler = new LogSampler({
      clock,
      get maxBytes() {
        return maxBytes(settings);
      },
      get monitorIntervalMs() {
        return settings.monitorIntervalMs;
      },
      logs: () => this.#logs.values(),
      onDue: ({ container }) => this.#checks.add(container.id),
    });
    this.#checks = new KeyedQueue({
      clock,
      parallel: Number.POSITIVE_INFINITY,
      get backoff() {
        return { initialMs: 500, maxMs: settings.monitorIntervalMs };
      },
      run: (id) => this.#onLog(id, (log) => this.#check(log)),
      onError: (id, err) => this.#onFailure(id, 'Failed to rotate container log', err),
    });
    this.#tidying = new KeyedQueue({
      clock,
      get parallel() {
        return settings.maxWorkers;
      },
      get backoff() {
        return { initialMs: settings.monitorIntervalMs, maxMs: 30 * settings.monitorIntervalMs };
      },
      run: (id) => this.#onLog(id, (log) => this.#tidy(log)),
      onError: (id, err) => this.#onFailure(id, 'Failed to compress rotated log', err),
    });
  }

  get wakes() {
    return [on(this.#deps.observed.changed, (uid) => this.#follow(uid))];
  }

  loopLoad(): LoopLoad {
    return sumLoads([this.#checks.load(), this.#tidying.load()]);
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    this.#signal = signal;
    this.#startedAtMs = this.#deps.clock.now();
    await this.#deps.host.start(signal);
    for (const uid of this.#deps.observed.all().keys()) this.#follow(uid);
    this.#checks.start();
    this.#sampler.start();
    this.#tidying.start();
    return { stopped: this.#untilStopped(signal) };
  }

  /** Checks every log against the new limits. The number of files applies when a log is rotated next. */
  settingsChanged(): void {
    if (!this.#isStarted) return;
    this.#workers.countChanged();
    this.#sampler.restart();
  }

  get #isStarted(): boolean {
    return this.#startedAtMs > 0 && !this.#signal.aborted;
  }

  /** Resolves once nothing changes the files of this log any more, so that they can be removed. */
  async release(path: string): Promise<void> {
    for (const log of this.#logs.values()) {
      if (log.container.path !== path || log.isRunning) continue;
      log.end();
      await log.settled();
    }
  }

  async #untilStopped(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    this.#sampler.stop();
    // Runs in flight end by themselves: their calls are aborted, and a begun rotation is undone.
    await Promise.all([this.#checks.stop(), this.#tidying.stop()]);
    for (const log of this.#logs.values()) log.end();
    this.#logs.clear();
    this.#byPod.clear();
  }

  #follow(uid: PodUid): void {
    if (this.#signal.aborted) return;
    const pod = this.#deps.observed.get(uid);
    const present = new Set(pod?.containers.map(({ id }) => id));
    for (const id of this.#byPod.get(uid) ?? []) if (!present.has(id)) this.#drop(id);
    if (pod === undefined) {
      this.#byPod.delete(uid);
      return;
    }
    this.#byPod.set(uid, present);
    for (const container of pod.containers) this.#followContainer(pod, container);
  }

  #followContainer(pod: ObservedPod, container: ObservedContainer): void {
    const { id, logPath: path, name } = container;
    // The runtime may return paths of other clients.
    if (!path.startsWith(`${this.#deps.settings.podLogsDir}/`)) return;
    const isRunning = container.state === 'running';
    const known = this.#logs.get(id);
    if (known !== undefined && !(isRunning && !known.isRunning)) {
      if (known.isRunning && !isRunning) known.end();
      return;
    }
    const log = new TrackedLog(
      { id, uid: pod.uid, pod: `${pod.namespace}/${pod.name}`, name, path },
      isRunning,
    );
    this.#logs.set(id, log);
    if (isRunning) this.#checks.add(id);
    // A kubelet that was killed may have left files.
    if (container.createdAtMs < this.#startedAtMs) this.#tidying.add(id);
  }

  #drop(id: ContainerId): void {
    this.#logs.get(id)?.end();
    this.#logs.delete(id);
    this.#checks.forget(id);
    this.#tidying.forget(id);
  }

  async #onLog(id: ContainerId, act: (log: TrackedLog) => Promise<void>): Promise<void> {
    const log = this.#logs.get(id);
    if (log === undefined) return;
    try {
      await act(log);
    } catch (err) {
      // A container that exits in the middle is no failure.
      const isOver = !log.isRunning || isAbortOf(err, this.#signal);
      if (!isOver) throw err;
    }
  }

  async #check(log: TrackedLog): Promise<void> {
    const { clock, settings } = this.#deps;
    if (!log.isRunning) return;
    if (log.live === undefined || log.isSuspect || !log.live.stat().hasName) await this.#openLive(log);
    const bytes = log.live?.stat().bytes ?? 0;
    if (bytes >= maxBytes(settings)) {
      const startMs = clock.monotonic();
      // Whether the open file keeps its name is unknown until the rotation has succeeded.
      log.isSuspect = true;
      await this.#asWorker(() => rotateLog(this.#rotateDeps, log, this.#signal));
      this.#tidying.addAfter(log.container.id, quietMs);
      await this.#openLive(log);
      const tookMs = Math.round(clock.monotonic() - startMs);
      this.#deps.log.v(4).info('Rotated container log', { ...fieldsOf(log), bytes, tookMs });
    }
    log.hasFailed = false;
    this.#sampler.begin(log);
  }

  /** A missing file is what a kubelet leaves that is killed after the rename: the runtime creates another. */
  async #openLive(log: TrackedLog): Promise<void> {
    const { host } = this.#deps;
    const { path } = log.container;
    let live = await host.openLive(path);
    if (live === undefined && log.isRunning) {
      await this.#asWorker(() => reopenLog(this.#rotateDeps, log, this.#signal));
      live = await host.openLive(path);
      if (live === undefined)
        throw new KubeletError('not-found', 'NoLog', `${path} does not exist after it was reopened`);
    }
    log.isSuspect = false;
    log.setLive(live);
    // It may have ended meanwhile.
    if (!log.isRunning) log.end();
  }

  async #asWorker(act: () => Promise<void>): Promise<void> {
    const slot = await this.#workers.acquire(0, this.#signal);
    try {
      await act();
    } finally {
      slot.release();
    }
  }

  async #tidy(log: TrackedLog): Promise<void> {
    const againInMs = await tidyLog(this.#rotateDeps, log, this.#signal);
    if (againInMs !== undefined && log.isRunning) this.#tidying.addAfter(log.container.id, againInMs);
  }

  #onFailure(id: ContainerId, message: string, err: unknown): void {
    const log = this.#logs.get(id);
    if (log !== undefined) this.#warn(log, message, { err });
  }

  /** Once until the next success, not at each attempt. */
  #warn(log: TrackedLog, message: string, fields: LogFields): void {
    if (log.hasFailed) return;
    log.hasFailed = true;
    this.#deps.log.warn(message, { ...fieldsOf(log), ...fields });
  }
}

/** The value of containerLogMaxSize in bytes; Infinity if it is negative, which disables rotation. */
export function parseMaxBytes(text: string): number {
  const bytes = Number(Quantity.parse(text).scaledValue(0));
  return bytes < 0 ? Number.POSITIVE_INFINITY : bytes;
}

/** A log is rotated only if it has content. */
function maxBytes(settings: LogRotationDeps['settings']): number {
  return Math.max(1, settings.maxBytes);
}

function fieldsOf({ container }: TrackedLog): LogFields {
  const { id, name, path, pod } = container;
  return { pod, containerName: name, containerID: id, path };
}
