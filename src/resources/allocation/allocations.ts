// Allocated resources of pods and actuated resources of containers. The allocation decides how a pod is run, counted and
// reported; the difference to what is actuated is the resize still to be done. Upstream: pkg/kubelet/allocation and its state.
// Owns Allocations (sole writer of allocated_pods_state and actuated_pods_state). Invariants: the store is updated before a key
// is announced; both files are read at start; a container starts only after `saved`, so that a kill loses no allocation; a
// damaged file costs no running container a restart.
import { join } from 'node:path';
import type { Pod, ResourceRequirements } from '../../api/k8s/types.ts';
import { type PodUid, podUid } from '../../api/pod/pod-ref.ts';
import { equalRequirements } from '../../api/pod/resize.ts';
import { untilAborted } from '../../base/abort/race-abort.ts';
import { Channel } from '../../base/channel.ts';
import type { Clock } from '../../base/clock.ts';
import type { Component } from '../../base/component.ts';
import type { Logger } from '../../base/log/log.ts';
import type { Store } from '../../base/store.ts';
import {
  type CheckpointFault,
  KeptCheckpoint,
  type KeptFiles,
  type LoadedCheckpoint,
} from '../checkpoint/kept-checkpoint.ts';
import { allocationOf, podWithAllocation } from './allocated-pod.ts';
import { decodeAllocations, encodeAllocations, type PodAllocation } from './allocation-checkpoint.ts';
import { computeRecoveredAllocations } from './recover-allocations.ts';

interface AllocationsDeps {
  readonly files: KeptFiles;
  readonly rootDir: string;
  /** The gate InPlacePodVerticalScaling. Without it every pod has the resources of its spec, and nothing is written. */
  readonly enabled: boolean;
  /** The gate InPlacePodLevelResourcesVerticalScaling. Without it pods have the pod-level resources of their spec. */
  readonly podLevel: boolean;
  /** Receives a file that could not be used. */
  readonly faults: { add(fault: CheckpointFault): void };
  readonly clock: Pick<Clock, 'setTimer'>;
  readonly log: Logger;
}

const allocatedFile = 'allocated_pods_state';
const actuatedFile = 'actuated_pods_state';

export class Allocations implements Component, Store {
  readonly storeName = 'Allocations';
  readonly writer = 'pod-resizes (allocated), pod-workers (actuated)';
  readonly name = 'allocations';
  /** Announces pods whose allocation changed. */
  readonly changed = new Channel<PodUid>();
  readonly #deps: AllocationsDeps;
  readonly #allocated: AllocationTable;
  readonly #actuated: AllocationTable;
  /** Cache of podOf, by the pod with the resources it requests. */
  readonly #views = new WeakMap<Pod, { readonly allocation: PodAllocation; readonly pod: Pod }>();

  constructor(deps: AllocationsDeps) {
    this.#deps = deps;
    this.#allocated = new AllocationTable(deps, allocatedFile);
    this.#actuated = new AllocationTable(deps, actuatedFile);
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    if (this.#deps.enabled) await this.#restore();
    return { stopped: this.#flushAfter(signal) };
  }

  /** differs from upstream: a damaged file does not keep the kubelet from starting. */
  async #restore(): Promise<void> {
    const actuated = await this.#actuated.load();
    const allocated = await this.#allocated.load();
    if (actuated.fault === undefined) this.#actuated.restore(actuated.state);
    else {
      // An older record could hide that a resize was applied. Without a record the running containers are compared instead.
      this.#actuated.recover(new Map());
      this.#deps.faults.add({ ...actuated.fault, usedPrevious: false });
    }
    if (allocated.fault === undefined) this.#allocated.restore(allocated.state);
    else {
      this.#allocated.recover(computeRecoveredAllocations(allocated.state, this.#actuated.all()));
      this.#deps.faults.add(allocated.fault);
    }
  }

  has(uid: PodUid): boolean {
    return this.#allocated.get(uid) !== undefined;
  }

  /** The pod with its allocated resources. The same object if these are what it requests, or if it was never admitted. */
  podOf(pod: Pod): Pod {
    const allocation = this.#allocated.get(podUid(pod));
    if (allocation === undefined) return pod;
    const cached = this.#views.get(pod);
    if (cached?.allocation === allocation) return cached.pod;
    const view = podWithAllocation(pod, allocation, this.#deps);
    this.#views.set(pod, { allocation, pod: view });
    return view;
  }

  /** The resources that this container was last created or updated with; undefined if unknown. */
  actuated(uid: PodUid, container: string): ResourceRequirements | undefined {
    return this.#actuated.get(uid)?.containers.get(container);
  }

  /** The pod-level resources that the pod's cgroup was last given: null for none, undefined if unknown. */
  actuatedPodLevel(uid: PodUid): ResourceRequirements | null | undefined {
    return this.#actuated.get(uid)?.podLevel;
  }

  /** Records that the pod was admitted or resized with the resources of this spec. */
  allocate(pod: Pod): void {
    if (!this.#deps.enabled) return;
    const uid = podUid(pod);
    const before = this.#allocated.get(uid);
    const allocation = allocationOf(pod, this.#deps, before);
    if (before !== undefined && sameAllocation(before, allocation)) return;
    this.#allocated.put(uid, allocation);
    this.changed.push(uid);
  }

  /** Records that the container was created or updated with these resources. */
  actuate(uid: PodUid, container: string, resources: ResourceRequirements): void {
    if (!this.#deps.enabled) return;
    const before = this.#actuated.get(uid) ?? { containers: new Map(), podLevel: undefined };
    const { containers } = before;
    if (containers.has(container) && equalRequirements(containers.get(container), resources)) return;
    this.#actuated.put(uid, { ...before, containers: new Map([...containers, [container, resources]]) });
  }

  /** Records that the pod's cgroup was given these pod-level resources. */
  actuatePodLevel(uid: PodUid, resources: ResourceRequirements | undefined): void {
    const { enabled, podLevel } = this.#deps;
    if (!enabled || !podLevel) return;
    const before = this.#actuated.get(uid) ?? { containers: new Map(), podLevel: undefined };
    const after = { ...before, podLevel: resources ?? null };
    if (!sameAllocation(before, after)) this.#actuated.put(uid, after);
  }

  /**
   * Records that the pod's cgroup was created for this spec. Its containers count as given their resources, since a resize
   * before their start needs only the cgroup to change.
   */
  actuateNew(pod: Pod): void {
    if (!this.#deps.enabled) return;
    const uid = podUid(pod);
    const before = this.#actuated.get(uid);
    const created = allocationOf(pod, this.#deps, before);
    const containers = new Map([...created.containers, ...(before?.containers ?? [])]);
    const after = { ...created, containers };
    if (before === undefined || !sameAllocation(before, after)) this.#actuated.put(uid, after);
  }

  /** Resolves when everything recorded so far survives a kill of the kubelet. */
  async saved(): Promise<void> {
    await Promise.all([this.#allocated.file.saved(), this.#actuated.file.saved()]);
  }

  forget(uid: PodUid): void {
    this.#allocated.delete(uid);
    this.#actuated.delete(uid);
  }

  /** Every pod with a record, desired or not. */
  uids(): ReadonlySet<PodUid> {
    return new Set([...this.#allocated.uids(), ...this.#actuated.uids()]);
  }

  async #flushAfter(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    await this.saved().catch(() => undefined);
    await Promise.all([this.#allocated.file.flush(), this.#actuated.file.flush()]);
  }
}

/** The content of one of the two files. */
class AllocationTable {
  readonly file: KeptCheckpoint<Map<PodUid, PodAllocation>>;
  #pods = new Map<PodUid, PodAllocation>();

  constructor({ clock, files, log, rootDir }: AllocationsDeps, name: string) {
    const path = join(rootDir, name);
    this.file = new KeptCheckpoint({
      files,
      clock,
      path,
      decode: decodeAllocations,
      encode: () => encodeAllocations(this.#pods),
      onError: (err) => log.error('Failed to write pod allocations', { path, err }),
    });
  }

  async load(): Promise<LoadedCheckpoint<Map<PodUid, PodAllocation>>> {
    return await this.file.load();
  }

  restore(pods: Map<PodUid, PodAllocation> = new Map()): void {
    this.#pods = pods;
  }

  /** Replaces the damaged file, too, so that the next start finds one that is whole. */
  recover(pods: Map<PodUid, PodAllocation>): void {
    this.restore(pods);
    this.file.save();
  }

  all(): ReadonlyMap<PodUid, PodAllocation> {
    return this.#pods;
  }

  get(uid: PodUid): PodAllocation | undefined {
    return this.#pods.get(uid);
  }

  uids(): Iterable<PodUid> {
    return this.#pods.keys();
  }

  put(uid: PodUid, allocation: PodAllocation): void {
    this.#pods.set(uid, allocation);
    this.file.save();
  }

  delete(uid: PodUid): void {
    if (this.#pods.delete(uid)) this.file.save();
  }
}

function sameAllocation(a: PodAllocation, b: PodAllocation): boolean {
  if (a.podLevel === undefined || b.podLevel === undefined) {
    if (a.podLevel !== b.podLevel) return false;
  } else if ((a.podLevel === null) !== (b.podLevel === null)) return false;
  else if (!equalRequirements(a.podLevel ?? undefined, b.podLevel ?? undefined)) return false;
  return (
    a.containers.size === b.containers.size &&
    [...a.containers].every(
      ([name, each]) => b.containers.has(name) && equalRequirements(each, b.containers.get(name)),
    )
  );
}
