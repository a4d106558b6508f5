// Collects dead containers, empty sandboxes and dead links periodically, and on request under disk pressure. It only finds the
// pods: their workers remove. Upstream: StartGarbageCollection in pkg/kubelet/kubelet.go, pkg/kubelet/container/container_gc.go.
// Invariants: a pod whose worker is busy or fails does not delay the others; nothing is collected while the runtime does not answer.
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { EventSink } from '../api/ports/events.ts';
import type { CollectionCause } from '../api/ports/garbage-scope.ts';
import type { ContainerReclaim } from '../api/ports/reclaim.ts';
import { withDeadline } from '../base/abort/deadline.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Clock } from '../base/clock.ts';
import type { Component, LoopLoad } from '../base/component.ts';
import { Aborted, describeError, isAbort, isKind, KubeletError } from '../base/errors.ts';
import { KeyedQueue } from '../base/keyed-queue.ts';
import type { Logger } from '../base/log/log.ts';
import { inSpan, type Tracer } from '../base/tracer.ts';

interface CollectorDeps {
  readonly workers: {
    /** Asks the workers of all pods, or of `only` these, that have garbage. The promises settle when each has collected. */
    collectGarbage(cause: CollectionCause, only?: ReadonlySet<PodUid>): ReadonlyMap<PodUid, Promise<void>>;
  };
  readonly observed: { get(uid: PodUid): unknown };
  readonly links: { removeDeadLinks(signal: AbortSignal): Promise<void> };
  readonly pleg: { health(): { readonly failure: string | undefined } };
  readonly events: Pick<EventSink, 'node'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly tracer?: Tracer | undefined;
}

/** Upstream: ContainerGCPeriod. */
const everyMs = 60_000;

/** By then the workers know which pods have finished. */
const firstAfterMs = 5_000;

const span = { scope: 'k8s.io/kubernetes/pkg/kubelet/kuberuntime', name: 'Containers/GarbageCollect' };

/** A worker that stops its pod or pulls an image takes longer; it collects afterwards. */
const workerMs = 30_000;

/** The API server stores the exits of an evicted pod some moments after its end. */
const evictedPollMs = 100;

export class ContainerCollector implements Component, ContainerReclaim {
  readonly name = 'container-collector';
  readonly wakes = [];
  readonly #deps: CollectorDeps;
  readonly #queue: KeyedQueue<'pass'>;
  #failedBefore = false;

  constructor(deps: CollectorDeps) {
    this.#deps = deps;
    this.#queue = new KeyedQueue<'pass'>({
      clock: deps.clock,
      parallel: 1,
      backoff: { initialMs: everyMs, maxMs: everyMs },
      run: async (_key, signal) => await this.#pass(signal),
      onError: (_key, err) => this.#failed(err),
    });
  }

  loopLoad(): LoopLoad {
    return this.#queue.load();
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    this.#queue.start();
    this.#queue.addAfter('pass', firstAfterMs);
    return { stopped: this.#drain(signal) };
  }

  async deleteUnusedContainers(signal: AbortSignal): Promise<void> {
    this.#deps.log.info('Attempting to delete unused containers');
    await this.#collect('pressure', signal);
  }

  async deleteEvicted(pods: ReadonlySet<PodUid>, signal: AbortSignal): Promise<void> {
    const { clock, observed, workers } = this.#deps;
    for (;;) {
      await this.#settle(workers.collectGarbage('pass', pods), signal);
      if (![...pods].some((uid) => observed.get(uid) !== undefined)) return;
      await clock.sleep(evictedPollMs, signal);
    }
  }

  async #drain(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    this.#queue.abortAll(new Aborted('the kubelet stops'));
    await this.#queue.stop();
  }

  async #pass(signal: AbortSignal): Promise<void> {
    await this.#collect('pass', signal);
    this.#queue.addAfter('pass', everyMs);
    this.#deps.log.v(this.#failedBefore ? 1 : 4).info('Container garbage collection succeeded');
    this.#failedBefore = false;
  }

  #failed(err: unknown): void {
    this.#failedBefore = true;
    // An unavailable runtime is logged once, by the relist.
    if (isKind(err, 'unavailable')) this.#deps.log.v(2).info('Container garbage collection failed', { err });
    else this.#deps.log.error('Container garbage collection failed', { err });
    const message = err instanceof KubeletError ? err.message : describeError(err);
    this.#deps.events.node({ type: 'Warning', reason: 'ContainerGCFailed', message });
  }

  async #collect(cause: CollectionCause, signal: AbortSignal): Promise<void> {
    const { links, pleg, tracer, workers } = this.#deps;
    await inSpan(tracer, span, async () => {
      const { failure } = pleg.health();
      if (failure !== undefined) throw new KubeletError('unavailable', 'RuntimeUnavailable', failure);
      await this.#settle(workers.collectGarbage(cause), signal);
      await links.removeDeadLinks(signal);
    });
  }

  async #settle(requested: ReadonlyMap<PodUid, Promise<void>>, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#deps;
    await Promise.all(
      [...requested].map(async ([podUID, done]) => {
        const what = 'collect the garbage of a pod';
        try {
          await withDeadline({ clock, ms: workerMs, signal, what }, async () => await done);
        } catch (err) {
          if (isAbort(err)) throw err;
          log.error('Failed to collect the garbage of a pod', { podUID, err });
        }
      }),
    );
  }
}
