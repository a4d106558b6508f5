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
import type { DeviceReleases } from './devices/device-releases.ts';
import { mountFailure } from './mount-failure.ts';
import type { MountedVolume, MountedVolumes } from './mounted-volumes.ts';
import { podRejected, type VolumePlugin, type VolumeSpec } from './plugin.ts';
import { PodMounts } from './pod-mounts.ts';
import { PodUnmount } from './pod-unmount.ts';
import { isTerminating, VolumeSetUp, type VolumeSetUpDeps } from './set-up-volume.ts';
import { computeExtraGroups } from './spec/extra-groups.ts';
import { usedVolumes } from './spec/pod-spec.ts';
import { pluginOf, refersTo } from './spec/refers-to.ts';
import { tearDownPod } from './tear-down.ts';
import type { VolumeCounts } from './volume-metrics-port.ts';

interface VolumeManagerDeps extends VolumeSetUpDeps {
  readonly mounts: MountedVolumes;
  readonly releases: Pick<DeviceReleases, 'releaseUnused'>;
  /** Rejects a pod that can never get its volumes on this node. */
  readonly reject: (uid: PodUid, refusal: { readonly reason: string; readonly message: string }) => void;
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
/** How long a pod's unmount waits for the release of its devices, which continues in the background. */
const releaseMs = 5_000;
/** Delays between attempts to unmount a busy volume; after the last one the caller gets the error. */
const busyDelaysMs = [50, 100, 200, 400, 800, 1_600];

export class VolumeManager implements Component, PodVolumes {
  readonly name = 'volumes';
  readonly wakes;
  /** Announces a pod whose mount should be retried: its backoff is over, or an object it waits for has appeared. */
  readonly wake = new Channel<PodUid>();
  /** Announces that inUse() may return something else. */
  readonly inUseChanged = new Channel<void>();
  readonly #deps: VolumeManagerDeps;
  readonly #setUp: VolumeSetUp;
  readonly #slots: Slots;
  readonly #updates: KeyedQueue<PodUid>;
  #order = 0;
  readonly #pods = new Map<PodUid, PodMounts>();
  readonly #unmounts = new Map<PodUid, PodUnmount>();
  #namesInUse = '';

  constructor(deps: VolumeManagerDeps) {
    const { clock, plugins, users } = deps.operations;
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
    this.wakes = [
      on(deps.updates.changed, (object) => this.#objectChanged(object)),
      on(users.changed, () => this.#inUseMayHaveChanged()),
      ...plugins.flatMap((plugin) =>
        plugin.prerequisite === undefined
          ? []
          : [on(plugin.prerequisite.changed, () => this.#requirementsChanged(plugin))],
      ),
    ];
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
    if (failures.length === 0) return;
    const failure = mountFailure(failures);
    if (failures.some(({ err }) => err instanceof KubeletError && err.reason === podRejected)) {
      const message = `Node has reached its volume attachment limit, rejecting pod. ${failure.message}`;
      this.#deps.reject(uid, { reason: podRejected, message });
    }
    throw failure;
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

  extraGroups(pod: Pod): readonly number[] {
    return computeExtraGroups(
      pod,
      this.#deps.mounts.ofPod(podUid(pod)).map(({ spec }) => spec),
    );
  }

  async unmount(uid: PodUid, signal: AbortSignal): Promise<void> {
    const { mounts, operations, releases } = this.#deps;
    const unmount = this.#unmounts.get(uid) ?? new PodUnmount(operations.clock.now());
    this.#unmounts.set(uid, unmount);
    await this.#pods.get(uid)?.close(settleMs);
    const keys = await unmount.attempt(() => this.#tearDown(uid, signal));
    mounts.delete(uid);
    this.#pods.delete(uid);
    await Promise.all(keys.map((key) => releases.releaseUnused(key, releaseMs)));
    this.#unmounts.delete(uid);
    this.#inUseMayHaveChanged();
    this.#scheduleUpdate(uid);
  }

  /** The pod's mounts and unmounts in flight and failed, for /explain. */
  activities(uid: PodUid): readonly PodActivity[] {
    const unmounting = this.#unmounts.get(uid);
    return [
      ...(this.#pods.get(uid)?.activities() ?? []),
      ...(unmounting === undefined ? [] : [unmounting.activity()]),
    ];
  }

  /** The volumes that pods want and those that are mounted, by plugin. */
  counts(): VolumeCounts {
    const { mounts, operations } = this.#deps;
    return {
      desired: [...this.#pods.values()].flatMap(({ pod }) =>
        usedVolumes(pod).flatMap((volume) => pluginOf(operations.plugins, volume)?.name ?? []),
      ),
      mounted: mounts
        .pods()
        .flatMap((uid) => mounts.ofPod(uid).map(({ plugin, spec }) => plugin.label?.(spec) ?? plugin.name)),
    };
  }

  /**
   * The unique names of the attachable volumes in use, for the next status of the node. Undefined until every source has reported
   * and the disk was read: volumes that an earlier process mounted are known only then.
   */
  reportedInUse(desired: { sourcesReady(): boolean }): readonly string[] | undefined {
    const { attachments, operations } = this.#deps;
    if (!operations.users.isLoaded || !desired.sourcesReady()) return undefined;
    const names = this.inUse();
    attachments?.aboutToReport(names);
    return names;
  }

  /** The attached volumes that are wanted, mounted or staged here, for status.volumesInUse of the node. Sorted. */
  inUse(): readonly string[] {
    const { mounts, operations } = this.#deps;
    const wanted = [...this.#pods.values()].flatMap((pod) => pod.specs());
    const mounted = mounts.pods().flatMap((uid) => mounts.ofPod(uid).map(({ spec }) => spec));
    const names = [...wanted, ...mounted].flatMap(
      (spec) => operations.plugins.find((each) => each.canServe(spec))?.attachName(spec) ?? [],
    );
    return [...new Set([...names, ...operations.users.attachNames()])].sort();
  }

  /** The volumes whose set-up has begun, of pods whose volumes are not being unmounted. */
  attempted(): readonly { readonly uid: PodUid; readonly spec: VolumeSpec }[] {
    return [...this.#pods].flatMap(([uid, mounts]) =>
      mounts.specs().flatMap((spec) => (mounts.isAttempted(spec.name) ? [{ uid, spec }] : [])),
    );
  }

  isAttempted(uid: PodUid, volume: string): boolean {
    return this.#pods.get(uid)?.isAttempted(volume) === true;
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
    const mounts = new PodMounts(pod, this.#deps.operations.clock, {
      onRetry: () => this.wake.push(uid),
      onResolved: () => this.#inUseMayHaveChanged(),
    });
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

  /** Unmounts what is on disk; repeats it while a volume is in use by a program that is about to exit. */
  async #tearDown(uid: PodUid, signal: AbortSignal): Promise<readonly string[]> {
    const { operations } = this.#deps;
    for (const delayMs of [...busyDelaysMs, undefined]) {
      try {
        return await tearDownPod(operations, uid, signal);
      } catch (err) {
        if (delayMs === undefined || !isKind(err, 'conflict') || signal.aborted) throw err;
        await operations.clock.sleep(delayMs, signal);
      }
    }
    return [];
  }

  /** Announces inUse() only if it has changed: the node's status is written at once. */
  #inUseMayHaveChanged(): void {
    const names = this.inUse().join('\n');
    if (names === this.#namesInUse) return;
    this.#namesInUse = names;
    this.inUseChanged.push();
  }

  /** What the plugin's volumes require may exist now: failed mounts and unmounts need not wait for their backoff. */
  #requirementsChanged(plugin: VolumePlugin): void {
    this.#inUseMayHaveChanged();
    for (const [uid, mounts] of this.#pods) {
      const names = mounts.specs().filter((spec) => plugin.canServe(spec) && mounts.retryNow(spec.name));
      if (names.length > 0) this.wake.push(uid);
    }
    for (const [uid, unmount] of this.#unmounts) if (unmount.hasFailed) this.wake.push(uid);
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
  /** Updates the content of a pod's volumes, and their size. A volume that cannot be updated stays as it is. */
  async #update(uid: PodUid): Promise<void> {
    const mounts = this.#pods.get(uid);
    if (mounts === undefined || mounts.isClosed) return this.#scheduleUpdate(uid);
    const volumes = this.#deps.mounts.ofPod(uid);
    const stale = volumes.filter(({ plugin, spec }) => plugin.needsRefresh(spec));
    const results = await Promise.allSettled(
      stale.map((volume) => mounts.attempt(volume.spec.name, () => this.#setUp.update(mounts, volume))),
    );
    if (!isTerminating(this.#deps.lifecycles, uid))
      await Promise.all(volumes.filter(mayGrow).map((volume) => this.#grow(mounts, volume)));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined && !mounts.isClosed && !isTerminating(this.#deps.lifecycles, uid))
      throw failed.reason;
    this.#scheduleUpdate(uid);
  }

  /** Never rejects: a claim that cannot be read is read again by the next update. */
  async #grow(mounts: PodMounts, volume: MountedVolume): Promise<void> {
    const uid = podUid(mounts.pod);
    try {
      const { spec } = await this.#setUp.grow(mounts, volume);
      if (mounts.isClosed || isSameClaim(spec, volume.spec)) return;
      this.#deps.mounts.set(uid, { ...volume, spec });
    } catch (err) {
      if (!mounts.isClosed)
        this.#deps.log.v(2).info('Failed to read the claim of a mounted volume', {
          podUID: uid,
          volume: volume.spec.name,
          err,
        });
    }
  }

  /** Up to a fifth earlier than syncFrequency, so that the updates of all pods do not coincide. */
  #scheduleUpdate(uid: PodUid): void {
    const { mounts, updates } = this.#deps;
    if (mounts.ofPod(uid).some((volume) => volume.plugin.needsRefresh(volume.spec) || mayGrow(volume)))
      this.#updates.addAfter(uid, updates.syncFrequencyMs * (1 - 0.2 * updates.random()));
    else this.#updates.forget(uid);
  }
}

/** Whether the node has a part in the expansion of the volume. */
function mayGrow({ plugin, spec }: MountedVolume): boolean {
  return (
    spec.claim !== undefined && plugin.expansion !== undefined && plugin.expansion.applies?.(spec) !== false
  );
}

function isSameClaim(a: VolumeSpec, b: VolumeSpec): boolean {
  const versions = ({ claim, persistent }: VolumeSpec): string =>
    [claim, persistent].map((each) => each?.metadata?.resourceVersion ?? '').join(' ');
  return versions(a) === versions(b);
}
