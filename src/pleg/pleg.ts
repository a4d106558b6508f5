// Notices what changed on the runtime: a relist every second finds which pods differ, an inspection of just those says how.
// Owns ObservedPods (sole writer). Upstream: pkg/kubelet/pleg. Invariants: only an inspection writes, never a list or an event;
// a later inspection of a pod is never overwritten by an earlier one; one pod that hangs delays neither the relist nor the others.
import type { CriRuntime } from '../api/cri/runtime.ts';
import type { ObservedPod } from '../api/pod/observed.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import { withDeadline } from '../base/abort/deadline.ts';
import { Channel } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import { describeError, isKind } from '../base/errors.ts';
import { KeyedQueue } from '../base/keyed-queue.ts';
import type { Logger } from '../base/log/log.ts';
import { type InspectOptions, type InspectRuntime, inspectPod } from './inspect-pod.ts';
import { groupByPod, matchesList } from './observe.ts';
import type { ObservedPods } from './observed-pods.ts';

interface PlegDeps {
  readonly runtime: InspectRuntime & Pick<CriRuntime, 'version'>;
  /** What the node knows of containers beside the runtime; undefined: the runtime's answers alone. */
  readonly node?: Pick<InspectOptions, 'files' | 'wasOomKilled'> | undefined;
  readonly observed: ObservedPods;
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: {
    readonly relistMs: number;
    /** Deadline of one list or one inspection; it is retried after that. */
    readonly callTimeoutMs: number;
  };
  /** Whether somebody is at work on this pod who will ask for its inspection when he is done. */
  readonly isAtWork?: (uid: PodUid) => boolean;
  /** Told how long each relist that went through took. */
  readonly onRelist?: (seconds: number) => void;
}

/** How the runtime answers: as the health check and the node's condition tell it. */
export interface RuntimeHealth {
  readonly everAnswered: boolean;
  /** Undefined while it answers. */
  readonly failure: string | undefined;
  readonly failingSinceMs: number | undefined;
  /** Monotonic times: when a relist last began, and when one last went through. */
  readonly lastAttemptAtMs: number | undefined;
  readonly lastRelistAtMs: number | undefined;
}

const parallelInspections = 32;
/** What upstream's kubelet says it speaks. */
const kubeRuntimeApiVersion = '0.1.0';

export class Pleg implements Component {
  readonly name = 'pleg';
  /** Announced when the first relist went through, and whenever the runtime comes back. */
  readonly answered = new Channel<void>();
  readonly #deps: PlegDeps;
  readonly #queue: KeyedQueue<PodUid>;
  /** Pods of the first relist that have not been inspected yet: nobody may act on these. */
  readonly #unseen = new Set<PodUid>();
  /** Per pod with an inspection under way: how many, and the newest that was stored. */
  readonly #inFlight = new Map<PodUid, { count: number; stored: number }>();
  /** New pods that the last relist left to those who are starting them. */
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
  #wake: (() => void) | undefined;
  #relistAsked = false;

  constructor(deps: PlegDeps) {
    this.#deps = deps;
    this.#queue = new KeyedQueue<PodUid>({
      clock: deps.clock,
      parallel: parallelInspections,
      backoff: { initialMs: 500, maxMs: 10_000 },
      run: async (uid, signal) => {
        await this.refresh(uid, signal);
      },
      onError: (uid, err, retryInMs) => {
        // A runtime that is away is told once, by the relist.
        if (!isKind(err, 'unavailable')) {
          deps.log.warn('Pod could not be inspected, will try again', { podUID: uid, retryInMs, err });
        }
      },
    });
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    this.#queue.start();
    return { stopped: this.#run(signal) };
  }

  health(): RuntimeHealth {
    return this.#health;
  }

  /** As the runtime calls itself: the scheme of container IDs. Known before anything is observed. */
  runtimeName(): string {
    return this.#runtimeName;
  }

  /** True when what ObservedPods says of this pod, even if that is nothing, comes from this runtime and this life. */
  isSeen(uid: PodUid): boolean {
    return this.#health.everAnswered && !this.#unseen.has(uid);
  }

  /**
   * Something about this pod may have changed. Cheap, idempotent, safe from anywhere. Of a new pod, who is starting it sees it
   * when he is done; half a pod is of use to nobody.
   */
  poke(uid: PodUid): void {
    if (!this.#isStarting(uid)) this.#queue.add(uid);
  }

  #isStarting(uid: PodUid): boolean {
    const isNew = this.#health.everAnswered && this.#deps.observed.get(uid) === undefined;
    return isNew && !this.#unseen.has(uid) && this.#deps.isAtWork?.(uid) === true;
  }

  /** The runtime may have come back: do not wait for the next relist. */
  pokeRelist(): void {
    // One that is under way may have begun too early.
    this.#relistAsked = true;
    this.#wake?.();
  }

  /** Inspects one pod now, stores what was seen and returns it. */
  async refresh(
    uid: PodUid,
    signal: AbortSignal,
    options: Pick<InspectOptions, 'anew' | 'started'> = {},
  ): Promise<ObservedPod | undefined> {
    const { clock, node, observed, runtime, settings } = this.#deps;

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
      const first = this.#unseen.delete(uid);
      observed.put(uid, pod, { first });
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
      this.#queue.abortAll(signal.reason);
      await this.#queue.stop();
    }
  }

  async #relistOnce(signal: AbortSignal): Promise<void> {
    const { clock, runtime } = this.#deps;
    const startedAtMs = clock.monotonic();
    this.#relistAsked = false;
    this.#health = { ...this.#health, lastAttemptAtMs: startedAtMs };
    try {
      const [sandboxes, containers] = await withDeadline(
        { clock, ms: this.#deps.settings.callTimeoutMs, signal, what: 'listing the runtime' },
        async (inner) =>
          await Promise.all([
            runtime.listPodSandbox({}, { signal: inner }),
            runtime.listContainers({}, { signal: inner }),
            this.#askName(inner),
          ]),
      );
      this.#compare(groupByPod(sandboxes.items, containers.containers));
      this.#succeeded();
      this.#deps.onRelist?.((clock.monotonic() - startedAtMs) / 1_000);
    } catch (err) {
      if (!signal.aborted) this.#failed(err);
    }
  }

  /** Asked anew whenever the runtime comes back: it may have been another one that was installed meanwhile. */
  async #askName(signal: AbortSignal): Promise<void> {
    if (this.#health.everAnswered && this.#health.failure === undefined) return;
    const { runtimeName } = await this.#deps.runtime.version({ version: kubeRuntimeApiVersion }, { signal });
    this.#runtimeName = runtimeName;
  }

  #compare(listed: ReturnType<typeof groupByPod>): void {
    const { observed } = this.#deps;
    const first = !this.#health.everAnswered;
    const starting = new Set<PodUid>();
    for (const [uid, pod] of listed) {
      const seen = observed.get(uid);
      if (seen !== undefined && matchesList(seen, pod)) continue;
      // Unless it stays that way.
      if (this.#isStarting(uid) && !this.#starting.has(uid)) {
        starting.add(uid);
        continue;
      }
      if (first) this.#unseen.add(uid);
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
      log.info('Container runtime answers again', {
        afterMs: Math.round(clock.monotonic() - before.failingSinceMs),
      });
    }
    if (!before.everAnswered || before.failure !== undefined) this.answered.push();
  }

  #failed(err: unknown): void {
    const { clock, log } = this.#deps;
    const before = this.#health;
    if (before.failure === undefined) {
      log.error('Container runtime does not answer; running containers are left alone until it does', {
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
    if (this.#relistAsked) return;
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
