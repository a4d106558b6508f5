// Updates the CPUs of running containers at the runtime. Upstream: reconcileState in pkg/kubelet/cm/cpumanager/cpu_manager.go.
// Invariants: an update carries the CPUs and nothing else; a set counts as applied only after the runtime accepted it; a container
// that fails or hangs delays no other.
import type { CriRuntime } from '../../api/cri/runtime.ts';
import type { Pod } from '../../api/k8s/types.ts';
import type { ObservedContainer, ObservedPod } from '../../api/pod/observed.ts';
import { type ContainerId, type PodUid, podUid } from '../../api/pod/pod-ref.ts';
import { withDeadline } from '../../base/abort/deadline.ts';
import type { Clock } from '../../base/clock.ts';
import type { LoopLoad } from '../../base/component.ts';
import { isKind } from '../../base/errors.ts';
import { KeyedQueue } from '../../base/keyed-queue.ts';
import type { Logger } from '../../base/log/log.ts';
import { sumLoads } from '../../base/loop-load.ts';
import { type CpuUpdate, computeCpuUpdates } from './reconcile-cpus.ts';

interface CpuReconcilerDeps {
  readonly cri: Pick<CriRuntime, 'updateContainerResources'>;
  readonly observed: { all(): ReadonlyMap<PodUid, ObservedPod> };
  readonly active: { all(): readonly Pod[] };
  /** The CPUs of a container as text; empty if the runtime decides. */
  readonly wanted: (uid: PodUid, container: string) => string;
  readonly periodMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Waiter {
  readonly left: Set<ContainerId>;
  readonly resolve: () => void;
}

/** So many hanging updates are needed before one of another container waits, for at most the deadline. */
const parallelUpdates = 32;
const updateDeadlineMs = 10_000;

export class CpuReconciler {
  readonly #deps: CpuReconcilerDeps;
  readonly #sweeps: KeyedQueue<'sweep'>;
  readonly #updates: KeyedQueue<ContainerId>;
  /** What the runtime accepted, by container. Containers that are gone are dropped by the sweep. */
  readonly #applied = new Map<ContainerId, string>();
  /** What a container of this pod and name was last created with, until it is observed. */
  readonly #created = new Map<PodUid, Map<string, string>>();
  /** The updates that the last sweep found necessary. */
  #due: ReadonlyMap<ContainerId, CpuUpdate> = new Map();
  /** Their last update failed. */
  readonly #failing = new Set<ContainerId>();
  readonly #waiters = new Set<Waiter>();
  #isStopped = false;

  constructor(deps: CpuReconcilerDeps) {
    this.#deps = deps;
    const { clock, log, periodMs } = deps;
    this.#sweeps = new KeyedQueue({
      clock,
      parallel: 1,
      run: async (key) => {
        this.#sweep();
        this.#sweeps.addAfter(key, periodMs);
      },
      backoff: { initialMs: periodMs, maxMs: periodMs },
    });
    this.#updates = new KeyedQueue({
      clock,
      parallel: parallelUpdates,
      run: (id, signal) => this.#update(id, signal),
      backoff: { initialMs: 1_000, maxMs: Math.max(1_000, periodMs) },
      onError: (id, err, retryInMs) => {
        this.#failing.add(id);
        const { container, cpus, uid } = this.#due.get(id) ?? {};
        log.error('Failed to update the CPUs of container', {
          podUid: uid,
          container,
          id,
          cpus,
          retryInMs,
          err,
        });
      },
    });
  }

  load(): LoopLoad {
    return sumLoads([this.#sweeps.load(), this.#updates.load()]);
  }

  start(): void {
    this.#updates.start();
    this.#sweeps.start();
    this.poke();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#sweeps.stop();
    this.#updates.abortAll();
    await this.#updates.stop();
    for (const { resolve } of this.#waiters) resolve();
    this.#waiters.clear();
  }

  /** CPUs or containers may have changed. */
  poke(): void {
    this.#sweeps.add('sweep');
  }

  /** A container of this name is created with these CPUs: it needs no update unless they change. */
  created(uid: PodUid, container: string, cpus: string): void {
    const containers = this.#created.get(uid) ?? new Map<string, string>();
    this.#created.set(uid, containers.set(container, cpus));
  }

  forget(uid: PodUid): void {
    this.#created.delete(uid);
  }

  /** Resolves when every update that is due now was accepted or has failed. */
  async settled(): Promise<void> {
    if (this.#isStopped) return;
    this.#sweep();
    const left = new Set([...this.#due.keys()].filter((id) => !this.#failing.has(id)));
    if (left.size > 0) await new Promise<void>((resolve) => void this.#waiters.add({ left, resolve }));
  }

  #sweep(): void {
    const { active, observed, wanted } = this.#deps;
    const running = observed.all();
    const pods = active.all().flatMap((pod) => running.get(podUid(pod)) ?? []);
    const applied = (uid: PodUid, container: ObservedContainer): string | undefined =>
      this.#appliedTo(uid, container);
    const updates = computeCpuUpdates(pods, { wanted, applied });
    const before = this.#due;
    this.#due = new Map(updates.map((each) => [each.id, each]));
    this.#forgetGone(pods);
    for (const [id, { cpus }] of this.#due) {
      // Other CPUs than those that failed are worth a try at once.
      if (before.get(id)?.cpus === cpus) this.#updates.addUnlessBackingOff(id);
      else this.#updates.add(id);
    }
  }

  #appliedTo(uid: PodUid, { id, name }: ObservedContainer): string | undefined {
    const created = this.#created.get(uid);
    const cpus = created?.get(name);
    if (cpus !== undefined && !this.#applied.has(id)) {
      created?.delete(name);
      this.#applied.set(id, cpus);
    }
    return this.#applied.get(id);
  }

  #forgetGone(pods: readonly ObservedPod[]): void {
    const ids = new Set(pods.flatMap(({ containers }) => containers.map(({ id }) => id)));
    for (const id of this.#applied.keys()) if (!ids.has(id)) this.#applied.delete(id);
    for (const id of this.#failing) if (!ids.has(id)) this.#failing.delete(id);
  }

  async #update(id: ContainerId, signal: AbortSignal): Promise<void> {
    const due = this.#due.get(id);
    let isCurrent = true;
    try {
      if (due === undefined) return;
      const { clock, cri, wanted } = this.#deps;
      const cpusetCpus = wanted(due.uid, due.container);
      if (cpusetCpus === '' || this.#applied.get(id) === cpusetCpus) return;
      await withDeadline(
        { clock, ms: updateDeadlineMs, signal, what: 'update container resources' },
        (each) => cri.updateContainerResources({ containerId: id, linux: { cpusetCpus } }, { signal: each }),
      );
      this.#applied.set(id, cpusetCpus);
      this.#failing.delete(id);
      // If its CPUs changed during the update, the container has not left the CPUs that others own by now.
      isCurrent = wanted(due.uid, due.container) === cpusetCpus;
    } catch (err) {
      // The container has exited since it was observed.
      if (!isKind(err, 'not-found')) throw err;
    } finally {
      if (isCurrent) this.#tried(id);
      else this.#updates.add(id);
    }
  }

  #tried(id: ContainerId): void {
    for (const waiter of this.#waiters) {
      waiter.left.delete(id);
      if (waiter.left.size > 0) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
  }
}
