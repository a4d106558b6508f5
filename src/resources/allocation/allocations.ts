// What pods were allocated, and what of it their containers have been given: the first decides how a pod is run, counted and
// told; the second what is still to be done. Upstream: pkg/kubelet/allocation and its state. Owns Allocations (sole writer of
// allocated_pods_state and actuated_pods_state). Invariants: a store is updated before a key is announced; both files are
// read before anything is decided; whoever runs a container waits until `saved`, so that no allocation is lost by a kill.
import { join } from 'node:path';
import type { Pod, ResourceRequirements } from '../../api/k8s/types.ts';
import { type PodUid, podUid } from '../../api/pod/pod-ref.ts';
import { equalRequirements } from '../../api/pod/resize.ts';
import { untilAborted } from '../../base/abort/race-abort.ts';
import { Channel } from '../../base/channel.ts';
import type { Clock } from '../../base/clock.ts';
import type { Component } from '../../base/component.ts';
import { describeError } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import type { Store } from '../../base/store.ts';
import { CheckpointFile, cannotRestore, type StateFiles } from '../checkpoint/checkpoint-file.ts';
import { allocationOf, podWithAllocation } from './allocated-pod.ts';
import { decodeAllocations, encodeAllocations, type PodAllocation } from './allocation-checkpoint.ts';

interface AllocationsDeps {
  readonly files: Pick<StateFiles, 'read' | 'replace' | 'settle'>;
  readonly rootDir: string;
  /** The gate InPlacePodVerticalScaling: without it every pod has what it asks for, and nothing is written. */
  readonly enabled: boolean;
  readonly clock: Pick<Clock, 'setTimer'>;
  readonly log: Logger;
}

const allocatedFile = 'allocated_pods_state';
const actuatedFile = 'actuated_pods_state';

export class Allocations implements Component, Store {
  readonly storeName = 'Allocations';
  readonly writer = 'pod-resizes (allocated), pod-workers (actuated)';
  readonly name = 'allocations';
  /** A pod was allocated something else. */
  readonly changed = new Channel<PodUid>();
  readonly #deps: AllocationsDeps;
  readonly #allocated: AllocationTable;
  readonly #actuated: AllocationTable;
  /** By the pod as it was asked for. */
  readonly #views = new WeakMap<Pod, { readonly allocation: PodAllocation; readonly pod: Pod }>();

  constructor(deps: AllocationsDeps) {
    this.#deps = deps;
    this.#allocated = new AllocationTable(deps, allocatedFile);
    this.#actuated = new AllocationTable(deps, actuatedFile);
  }

  /** A file that cannot be trusted keeps the kubelet from starting. */
  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    if (this.#deps.enabled) {
      await this.#allocated.restore();
      await this.#actuated.restore();
    }
    return { stopped: this.#flushAfter(signal) };
  }

  has(uid: PodUid): boolean {
    return this.#allocated.get(uid) !== undefined;
  }

  /** The pod with what it was allocated; itself when that is what it asks for, or when it was never admitted. */
  podOf(pod: Pod): Pod {
    const allocation = this.#allocated.get(podUid(pod));
    if (allocation === undefined) return pod;
    const known = this.#views.get(pod);
    if (known?.allocation === allocation) return known.pod;
    const view = podWithAllocation(pod, allocation);
    this.#views.set(pod, { allocation, pod: view });
    return view;
  }

  /** What this container was last given; undefined when nobody remembers. */
  actuated(uid: PodUid, container: string): ResourceRequirements | undefined {
    return this.#actuated.get(uid)?.get(container);
  }

  /** The pod was admitted, or resized, with what this spec asks for. */
  allocate(pod: Pod): void {
    if (!this.#deps.enabled) return;
    const uid = podUid(pod);
    const before = this.#allocated.get(uid);
    const allocation = allocationOf(pod);
    if (before !== undefined && sameAllocation(before, allocation)) return;
    this.#allocated.put(uid, allocation);
    this.changed.push(uid);
  }

  /** The container was made, or updated, with these. */
  actuate(uid: PodUid, container: string, resources: ResourceRequirements): void {
    if (!this.#deps.enabled) return;
    const before = this.#actuated.get(uid);
    if (before?.has(container) && equalRequirements(before.get(container), resources)) return;
    this.#actuated.put(uid, new Map([...(before ?? []), [container, resources]]));
  }

  /** Resolves when what was said so far would survive a kill. */
  async saved(): Promise<void> {
    await Promise.all([this.#allocated.file.saved(), this.#actuated.file.saved()]);
  }

  forget(uid: PodUid): void {
    this.#allocated.delete(uid);
    this.#actuated.delete(uid);
  }

  /** Pods that are remembered, wanted or not. */
  uids(): ReadonlySet<PodUid> {
    return new Set([...this.#allocated.uids(), ...this.#actuated.uids()]);
  }

  async #flushAfter(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    await this.saved().catch(() => undefined);
    await Promise.all([this.#allocated.file.settle(), this.#actuated.file.settle()]);
  }
}

/** One of the two files, and what it holds. */
class AllocationTable {
  readonly file: CheckpointFile;
  readonly #path: string;
  readonly #log: Logger;
  #pods = new Map<PodUid, PodAllocation>();

  constructor({ clock, files, log, rootDir }: AllocationsDeps, name: string) {
    this.#path = join(rootDir, name);
    this.#log = log;
    this.file = new CheckpointFile({
      files,
      clock,
      path: this.#path,
      encode: () => encodeAllocations(this.#pods),
      onError: (err) => log.error('Allocations of pods could not be written', { path: this.#path, err }),
    });
  }

  async restore(): Promise<void> {
    const text = await this.file.read();
    if (text === undefined) return;
    // differs from upstream: a machine that loses its power may leave a file that was made just before without its content.
    // Nothing of what it told about runs any more; a kubelet that refuses to start would help nobody.
    if (/^\0*$/.test(text)) {
      this.#log.warn('Allocations of pods were lost with the power of the machine', { path: this.#path });
      return;
    }
    try {
      this.#pods = decodeAllocations(text);
    } catch (err) {
      throw cannotRestore(describeError(err), 'pod resource information', this.#path);
    }
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
  return (
    a.size === b.size && [...a].every(([name, each]) => b.has(name) && equalRequirements(each, b.get(name)))
  );
}
