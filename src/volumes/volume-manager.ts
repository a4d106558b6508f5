// Mounts a pod's volumes before its containers start, keeps their content up to date while they run, and unmounts them
// afterwards. Sole writer of MountedVolumes. Upstream: pkg/kubelet/volumemanager, without its polling: a volume is mounted when
// the pod's worker calls mount(), and updated when its object changes, at the latest every syncFrequency.
// Invariants: the volumes of a pod are mounted in parallel, and one that hangs or fails delays its own pod only; a caller that
// stops waiting does not abort the attempt; a pod whose volumes are being unmounted gets no new ones; one update per pod at a time.

import type { Container, Pod, Volume } from '../api/k8s/types.ts';
import { type PodUid, podUid } from '../api/pod/pod-ref.ts';
import type { ContainerMounts, PodVolumes, VolumeFile, VolumeFileRequest } from '../api/pod/pod-volumes.ts';
import type { PodActivity } from '../api/ports/pod-activity.ts';
import type { ChangedObject } from '../api/ports/pod-objects.ts';
import { raceAbort, untilAborted } from '../base/abort/race-abort.ts';
import { Channel, type Subscribable } from '../base/channel.ts';
import { type Component, on } from '../base/component.ts';
import { isKind, KubeletError } from '../base/errors.ts';
import { KeyedQueue } from '../base/keyed-queue.ts';
import { Slots } from '../base/slots.ts';
import {
  type ContainerMountsDeps,
  containerDevices,
  containerMounts,
  type MountRequest,
} from './container/container-mounts.ts';
import { readVolumeFile } from './container/volume-file.ts';
import { mountFailure } from './mount-failure.ts';
import type { MountedVolume, MountedVolumes } from './mounted-volumes.ts';
import { PodMounts } from './pod-mounts.ts';
import { isTerminating, VolumeSetUp, type VolumeSetUpDeps } from './set-up-volume.ts';
import { usedVolumes } from './spec/pod-spec.ts';
import { pluginOf, refersTo } from './spec/refers-to.ts';
import { tearDownPod } from './tear-down.ts';
import type { VolumeCounts } from './volume-metrics-port.ts';

interface VolumeManagerDeps extends VolumeSetUpDeps {
  readonly mounts: MountedVolumes;
  readonly containers: ContainerMountsDeps;
  readonly updates: UpdateSettings;
}

interface UpdateSettings {
  /** Announces the objects that contents come from. */
  readonly changed: Subscribable<ChangedObject>;
  readonly syncFrequencyMs: number;
  /** In [0, 1). */
  readonly random: () => number;
}

/** Pods that mount in parallel. A pod that takes longer than the lease no longer counts. */
const parallelMounts = 8;
const slotLeaseMs = 500;
/** Pods whose content is updated in parallel. */
const parallelUpdates = 8;
/** Grace period for an aborted attempt to end. */
const settleMs = 5_000;
/** Delays between attempts to unmount a busy volume; after the last one the caller gets the error. */
const busyDelaysMs = [50, 100, 200, 400, 800, 1_600];

export class VolumeManager implements Component, PodVolumes {
  readonly name = 'volumes';
  readonly wakes;
  /** Announces a pod whose mount should be retried: its backoff is over, or an object it waits for has appeared. */
  readonly wake = new Channel<PodUid>();
  readonly #deps: VolumeManagerDeps;
  readonly #setUp: VolumeSetUp;
  readonly #slots: Slots;
  readonly #updates: KeyedQueue<PodUid>;
  #order = 0;
  readonly #pods = new Map<PodUid, PodMounts>();

  constructor(deps: VolumeManagerDeps) {
    const { clock } = deps.operations;
    this.#deps = deps;
    this.#setUp = new VolumeSetUp(deps);
    this.#slots = new Slots({ clock, count: parallelMounts, leaseMs: slotLeaseMs });
    this.#updates = new KeyedQueue<PodUid>({
      clock,
      parallel: parallelUpdates,
      run: (uid) => this.#update(uid),
      backoff: { initialMs: 500, maxMs: 60_000, jitter: 0.1 },
      onError: (uid, err, retryInMs) =>
        deps.log.v(2).info('Failed to update volumes', { podUID: uid, retryInMs, err }),
    });
    this.wakes = [on(deps.updates.changed, (object) => this.#objectChanged(object))];
  }

  start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    this.#deps.operations.metrics.countBy(() => this.counts());
    this.#updates.start();
    return Promise.resolve({ stopped: this.#drain(signal) });
  }

  async mount(pod: Pod, signal: AbortSignal): Promise<void> {
    const uid = podUid(pod);
    const mounts = this.#podMounts(pod);
    if (mounts.isClosed)
      throw new KubeletError('conflict', 'FailedMount', 'the volumes of this pod are being unmounted');
    if (mounts.pod !== pod) {
      mounts.pod = pod;
      this.#updates.add(uid);
    }
    const missing = usedVolumes(pod).filter(({ name }) => this.#deps.mounts.get(uid, name) === undefined);
    if (missing.length === 0) return;
    const results = await this.#mountAll(mounts, missing, signal);
    const failures = results.flatMap((result, at) =>
      result.status === 'rejected' ? [{ name: missing[at]?.name ?? '', err: result.reason as unknown }] : [],
    );
    if (failures.length > 0) throw mountFailure(failures);
  }

  async containerMounts(
    pod: Pod,
    container: Container,
    options: Pick<MountRequest, 'expand'> & Partial<Pick<MountRequest, 'imageVolumes'>>,
    signal: AbortSignal,
  ): Promise<ContainerMounts> {
    const uid = podUid(pod);
    const mounted = (name: string): MountedVolume | undefined => this.#deps.mounts.get(uid, name);
    const { expand, imageVolumes = new Map() } = options;
    const request = { pod, container, mounted, imageVolumes, expand };
    return {
      mounts: await containerMounts(this.#deps.containers, request, signal),
      devices: containerDevices(request),
    };
  }

  async readFile(pod: Pod, request: VolumeFileRequest, signal: AbortSignal): Promise<VolumeFile> {
    const mounted = this.#deps.mounts.get(podUid(pod), request.volume);
    return await readVolumeFile(this.#deps.containers.host, mounted, request, signal);
  }

  async unmount(uid: PodUid, signal: AbortSignal): Promise<void> {
    const { mounts, operations } = this.#deps;
    await this.#pods.get(uid)?.close(settleMs);
    for (const delayMs of [...busyDelaysMs, undefined]) {
      try {
        await tearDownPod(operations, uid, signal);
        break;
      } catch (err) {
        if (delayMs === undefined || !isKind(err, 'conflict') || signal.aborted) throw err;
        await operations.clock.sleep(delayMs, signal);
      }
    }
    mounts.delete(uid);
    this.#pods.delete(uid);
    this.#scheduleUpdate(uid);
  }

  /** The pod's mounts in flight and failed, for /explain. */
  activities(uid: PodUid): readonly PodActivity[] {
    return this.#pods.get(uid)?.activities() ?? [];
  }

  /** The volumes that pods want and those that are mounted, by plugin. */
  counts(): VolumeCounts {
    const { mounts, operations } = this.#deps;
    return {
      desired: [...this.#pods.values()].flatMap(({ pod }) =>
        usedVolumes(pod).flatMap((volume) => pluginOf(operations.plugins, volume)?.name ?? []),
      ),
      mounted: mounts.pods().flatMap((uid) => mounts.ofPod(uid).map(({ plugin }) => plugin.name)),
    };
  }

  /**
   * The unique names of the attachable volumes in use, for the node's status. Undefined until every source has reported: volumes
   * that an earlier process mounted are known only then.
   */
  reportedInUse(desired: { sourcesReady(): boolean }): readonly string[] | undefined {
    return desired.sourcesReady() ? this.inUse() : undefined;
  }

  /** The attached volumes that are wanted or mounted here, for status.volumesInUse of the node. Sorted. */
  inUse(): readonly string[] {
    const { mounts, operations } = this.#deps;
    const wanted = [...this.#pods.values()].flatMap((pod) => pod.specs());
    const mounted = mounts.pods().flatMap((uid) => mounts.ofPod(uid).map(({ spec }) => spec));
    const names = [...wanted, ...mounted].flatMap(
      (spec) => operations.plugins.find((each) => each.canServe(spec))?.attachName(spec) ?? [],
    );
    return [...new Set(names)].sort();
  }

  /** Aborts attempts in flight; mounted volumes stay mounted for the next kubelet process. */
  async #drain(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    await this.#updates.stop();
    await Promise.all([...this.#pods.values()].map((mounts) => mounts.close(settleMs)));
    this.#pods.clear();
  }

  #podMounts(pod: Pod): PodMounts {
    const uid = podUid(pod);
    const existing = this.#pods.get(uid);
    if (existing !== undefined) return existing;
    const mounts = new PodMounts(pod, this.#deps.operations.clock, () => this.wake.push(uid));
    this.#pods.set(uid, mounts);
    return mounts;
  }

  /** First come, first served: in a burst the first pods are done early, instead of all of them at the end. */
  async #mountAll(
    mounts: PodMounts,
    missing: readonly Volume[],
    signal: AbortSignal,
  ): Promise<readonly PromiseSettledResult<void>[]> {
    const slot = await this.#slots.acquire(this.#order++, signal);
    try {
      const attempts = missing.map((volume) =>
        mounts.attempt(volume.name, () => this.#mountOne(mounts, volume)),
      );
      return await raceAbort(Promise.allSettled(attempts), signal);
    } finally {
      slot.release();
    }
  }

  async #mountOne(mounts: PodMounts, volume: Volume): Promise<void> {
    const mounted = await this.#setUp.mount(mounts, volume);
    if (mounts.isClosed) return;
    const uid = podUid(mounts.pod);
    mounts.succeeded(volume.name);
    this.#deps.mounts.set(uid, mounted);
    this.#scheduleUpdate(uid);
  }

  /** Updates the pods whose volumes come from this object; those that wait for it retry their mount at once. */
  #objectChanged(changed: ChangedObject): void {
    const { lifecycles, operations } = this.#deps;
    for (const [uid, mounts] of this.#pods) {
      // Objects are often deleted with their pods. A pod that takes long to terminate gets the change by its periodic update.
      if (isTerminating(lifecycles, uid)) continue;
      const volumes = usedVolumes(mounts.pod).filter((volume) =>
        refersTo(operations.plugins, mounts.pod, volume, changed),
      );
      if (volumes.length === 0) continue;
      const waiting = volumes.filter(({ name }) => mounts.retryNow(name));
      if (waiting.length > 0) this.wake.push(uid);
      this.#updates.add(uid);
    }
  }

  // differs from upstream: a terminating pod is updated too, so that its token stays valid as long as the pod runs.
  /** Updates the content of a pod's volumes. A volume that cannot be updated keeps its content. */
  async #update(uid: PodUid): Promise<void> {
    const mounts = this.#pods.get(uid);
    if (mounts === undefined || mounts.isClosed) return this.#scheduleUpdate(uid);
    const volumes = this.#deps.mounts.ofPod(uid).filter(({ plugin }) => plugin.needsRefresh);
    const results = await Promise.allSettled(
      volumes.map((volume) => mounts.attempt(volume.spec.name, () => this.#setUp.update(mounts, volume))),
    );
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined && !mounts.isClosed && !isTerminating(this.#deps.lifecycles, uid))
      throw failed.reason;
    this.#scheduleUpdate(uid);
  }

  /** Up to a fifth earlier than syncFrequency, so that the updates of all pods do not coincide. */
  #scheduleUpdate(uid: PodUid): void {
    const { mounts, updates } = this.#deps;
    if (mounts.ofPod(uid).some(({ plugin }) => plugin.needsRefresh))
      this.#updates.addAfter(uid, updates.syncFrequencyMs * (1 - 0.2 * updates.random()));
    else this.#updates.forget(uid);
  }
}
