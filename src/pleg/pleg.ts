// Observes the runtime: a relist every second finds the pods that changed, and an inspection reads just those.
// Owns ObservedPods (sole writer). Upstream: pkg/kubelet/pleg. Invariants: only an inspection writes the store, never a list or
// an event; an older inspection never overwrites a newer one; a pod that hangs delays neither the relist nor other pods.
import type { CriRuntime } from '../api/cri/runtime.ts';
import type { ObservedPod } from '../api/pod/observed.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import { withDeadline } from '../base/abort/deadline.ts';
import { Channel, type Subscribable } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import { type Component, type LoopLoad, on } from '../base/component.ts';
import { describeError, isKind } from '../base/errors.ts';
import { KeyedQueue } from '../base/keyed-queue.ts';
import type { Logger } from '../base/log/log.ts';
import { type InspectOptions, type InspectRuntime, inspectPod } from './inspect-pod.ts';
import { groupByPod, matchesList } from './observe.ts';
import type { ObservedPods } from './observed-pods.ts';

export interface PlegDeps {
  readonly runtime: InspectRuntime & Pick<CriRuntime, 'version'>;
  /** The connection to the runtime was opened or lost. */
  readonly connectionChanged: Subscribable<boolean>;
  /** What the node knows of containers beside the runtime; undefined: the runtime's answers alone. */
  readonly node?: Pick<InspectOptions, 'files' | 'wasOomKilled'> | undefined;
  readonly stores: {
    readonly observed: ObservedPods;
    /** The pods whose worker is running: it has its pod inspected when it is done. */
    readonly inSync: { has(uid: PodUid): boolean };
  };
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: {
    readonly relistMs: number;
    /** Deadline of one list or one inspection; it is retried after that. */
    readonly callTimeoutMs: number;
  };
  /** Called with the duration of each successful relist. */
  readonly onRelist?: (seconds: number) => void;
  /** Called with the duration of each inspection that a worker has requested. */
  readonly onPodRelist?: (seconds: number) => void;
}

/** The runtime's health, for the health checks and the node's Ready condition. */
export interface RuntimeHealth {
  readonly everAnswered: boolean;
  /** Undefined while the runtime answers. */
  readonly failure: string | undefined;
  readonly failingSinceMs: number | undefined;
  /** Monotonic times: when the last relist began, and when the last successful one ended. */
  readonly lastAttemptAtMs: number | undefined;
  readonly lastRelistAtMs: number | undefined;
}

const parallelInspections = 32;
/** The API version that upstream's kubelet sends. */
const kubeRuntimeApiVersion = '0.1.0';

export class Pleg implements Component {
  readonly name = 'pleg';
  /** Announced after the first successful relist, and whenever the runtime has recovered. */
  readonly answered = new Channel<void>();
  readonly #deps: PlegDeps;
  readonly #queue: KeyedQueue<PodUid>;
  /** Pods of the first relist that have not been inspected yet: no component may act on these. */
  readonly #uninspected = new Set<PodUid>();
  /** Inspections in flight per pod: their number, and the newest that was stored. */
  readonly #inFlight = new Map<PodUid, { count: number; stored: number }>();
  /** New pods that the last relist left to the workers that start them. */
  #starting: ReadonlySet<PodUid> = new Set();
  #nextSeq = 1;
  #health: RuntimeHealth = {
    everAnswered: false,
    failure: undefined,
    failingSinceMs: undefined,
    lastAttemptAtMs: undefined,
    lastRelistAtMs: undefined,
  };
  #runtimeName = '';
  readonly #firstInspected: Promise<void>;
  #onFirstInspected: () => void = () => undefined;
  #wake: (() => void) | undefined;
  #relistRequested = false;

  constructor(deps: PlegDeps) {
    this.#deps = deps;
    this.#firstInspected = new Promise((resolve) => {
      this.#onFirstInspected = resolve;
    });
    this.#queue = new KeyedQueue<PodUid>({
      clock: deps.clock,
      parallel: parallelInspections,
      backoff: { initialMs: 500, maxMs: 10_000 },
      run: async (uid, signal) => {
        await this.#inspect(uid, signal);
      },
      onError: (uid, err, retryInMs) => {
        // An unavailable runtime is logged once, by the relist.
        if (!isKind(err, 'unavailable')) {
          deps.log.warn('Failed to inspect pod, will retry', { podUID: uid, retryInMs, err });
        }
      },
    });
  }

  get wakes() {
    return [
      on(this.#deps.connectionChanged, (isUp) => {
        if (isUp) this.pokeRelist();
      }),
    ];
  }

  loopLoad(): LoopLoad {
    return this.#queue.load();
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    this.#queue.start();
    return { stopped: this.#run(signal) };
  }

  health(): RuntimeHealth {
    return this.#health;
  }

  /** The runtime's name, which is the scheme of container IDs. Known before any pod is observed. */
  runtimeName(): string {
    return this.#runtimeName;
  }

  /** False until this process has inspected the pod, or a relist has shown that the runtime does not have it. */
  isInspected(uid: PodUid): boolean {
    return this.#health.everAnswered && !this.#uninspected.has(uid);
  }

  /** Resolves when every pod of the first relist has been inspected, or that relist has failed, or the kubelet stops. */
  async firstInspection(): Promise<void> {
    await this.#firstInspected;
  }

  /**
   * Something about this pod may have changed. Cheap, idempotent, safe from anywhere. A new pod that its worker is starting is
   * left to the worker: an inspection in the middle of the start would be repeated anyway.
   */
  poke(uid: PodUid): void {
    if (!this.#isStarting(uid)) this.#queue.add(uid);
  }

  #isStarting(uid: PodUid): boolean {
    const { inSync, observed } = this.#deps.stores;
    const isNew = this.#health.everAnswered && observed.get(uid) === undefined;
    return isNew && !this.#uninspected.has(uid) && inSync.has(uid);
  }

  /** Relists at once: the runtime may have recovered. */
  pokeRelist(): void {
    // A relist in flight may have begun too early.
    this.#relistRequested = true;
    this.#wake?.();
  }

  /** Inspects one pod now, stores the result and returns it. */
  async refresh(
    uid: PodUid,
    signal: AbortSignal,
    options: Pick<InspectOptions, 'rereadRunning' | 'started'> = {},
  ): Promise<ObservedPod | undefined> {
    const { clock, onPodRelist } = this.#deps;
    const startedAtMs = clock.monotonic();
    try {
      return await this.#inspect(uid, signal, options);
    } finally {
      onPodRelist?.((clock.monotonic() - startedAtMs) / 1_000);
    }
  }

  async #inspect(
    uid: PodUid,
    signal: AbortSignal,
    options: Pick<InspectOptions, 'rereadRunning' | 'started'> = {},
  ): Promise<ObservedPod | undefined> {
    const { clock, node, runtime, settings } = this.#deps;
    const { observed } = this.#deps.stores;

    const seq = this.#nextSeq++;
    const flight = this.#inFlight.get(uid) ?? { count: 0, stored: 0 };
    flight.count += 1;
    this.#inFlight.set(uid, flight);
    try {
      const pod = await withDeadline(
        { clock, ms: settings.callTimeoutMs, signal, what: 'inspecting a pod' },
        async (inner) =>
          await inspectPod(runtime, uid, observed.get(uid), clock.now(), inner, { ...options, ...node }),
      );
      if (seq < flight.stored) return observed.get(uid);
      flight.stored = seq;
      const isFirst = this.#uninspected.delete(uid);
      observed.put(uid, pod, { isFirst });
      if (isFirst && this.#uninspected.size === 0) this.#onFirstInspected();
      return pod;
    } finally {
      flight.count -= 1;
      if (flight.count === 0) this.#inFlight.delete(uid);
    }
  }

  async #run(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) {
        await this.#relistOnce(signal);
        await this.#pause(signal);
      }
    } finally {
      this.#onFirstInspected();
      this.#queue.abortAll(signal.reason);
      await this.#queue.stop();
    }
  }

  async #relistOnce(signal: AbortSignal): Promise<void> {
    const { clock, runtime } = this.#deps;
    const startedAtMs = clock.monotonic();
    this.#relistRequested = false;
    this.#health = { ...this.#health, lastAttemptAtMs: startedAtMs };
    try {
      const [sandboxes, containers] = await withDeadline(
        { clock, ms: this.#deps.settings.callTimeoutMs, signal, what: 'listing the runtime' },
        async (inner) =>
          await Promise.all([
            runtime.listPodSandbox({}, { signal: inner }),
            runtime.listContainers({}, { signal: inner }),
            this.#readRuntimeName(inner),
          ]),
      );
      this.#compare(groupByPod(sandboxes.items, containers.containers));
      this.#succeeded();
      this.#deps.onRelist?.((clock.monotonic() - startedAtMs) / 1_000);
    } catch (err) {
      if (!signal.aborted) this.#failed(err);
    }
  }

  /** Read again whenever the runtime has recovered: another one may have been installed. */
  async #readRuntimeName(signal: AbortSignal): Promise<void> {
    if (this.#health.everAnswered && this.#health.failure === undefined) return;
    const { runtimeName } = await this.#deps.runtime.version({ version: kubeRuntimeApiVersion }, { signal });
    this.#runtimeName = runtimeName;
  }

  #compare(listed: ReturnType<typeof groupByPod>): void {
    const { observed } = this.#deps.stores;
    const first = !this.#health.everAnswered;
    const starting = new Set<PodUid>();
    for (const [uid, pod] of listed) {
      const seen = observed.get(uid);
      if (seen !== undefined && matchesList(seen, pod)) continue;
      // Left to its worker once; a second relist that finds it unchanged inspects it.
      if (this.#isStarting(uid) && !this.#starting.has(uid)) {
        starting.add(uid);
        continue;
      }
      if (first) this.#uninspected.add(uid);
      this.#queue.add(uid);
    }
    this.#starting = starting;
    for (const uid of observed.all().keys()) {
      if (!listed.has(uid)) this.#queue.add(uid);
    }
  }

  #succeeded(): void {
    const { clock, log } = this.#deps;
    const before = this.#health;
    this.#health = {
      ...before,
      everAnswered: true,
      failure: undefined,
      failingSinceMs: undefined,
      lastRelistAtMs: clock.monotonic(),
    };
    if (before.failingSinceMs !== undefined) {
      log.info('Container runtime is available again', {
        afterMs: Math.round(clock.monotonic() - before.failingSinceMs),
      });
    }
    if (this.#uninspected.size === 0) this.#onFirstInspected();
    if (!before.everAnswered || before.failure !== undefined) this.answered.push();
  }

  #failed(err: unknown): void {
    const { clock, log } = this.#deps;
    const before = this.#health;
    this.#onFirstInspected();
    if (before.failure === undefined) {
      log.error('Container runtime is unavailable; running containers are left alone until it recovers', {
        err,
      });
    }
    this.#health = {
      ...before,
      failure: describeError(err),
      failingSinceMs: before.failingSinceMs ?? clock.monotonic(),
    };
  }

  async #pause(signal: AbortSignal): Promise<void> {
    const { clock, settings } = this.#deps;
    if (this.#relistRequested) return;
    await new Promise<void>((resolve) => {
      const timer = clock.setTimer(settings.relistMs, done);
      function done(): void {
        timer.cancel();
        signal.removeEventListener('abort', done);
        resolve();
      }
      this.#wake = done;
      signal.addEventListener('abort', done, { once: true });
      if (signal.aborted) done();
    });
    this.#wake = undefined;
  }
}
