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
import { type Component, type LoopLoad, on } from '../base/component.ts';
import { isKind, KubeletError } from '../base/errors.ts';
import { Slots } from '../base/slots.ts';
import { VolumesInUse } from './attach/volumes-in-use.ts';
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
import { refersTo } from './spec/refers-to.ts';
import { tearDownPod } from './tear-down.ts';
import type { VolumeCounts } from './volume-metrics-port.ts';
import { VolumeUpdates } from './volume-updates.ts';

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

/** Pods that mount in parallel. A pod that waits for a driver, or takes longer than the lease, no longer counts. */
const parallelMounts = 8;
const slotLeaseMs = 500;
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
  readonly inUse: VolumesInUse;
  readonly #deps: VolumeManagerDeps;
  readonly #setUp: VolumeSetUp;
  readonly #slots: Slots;
  readonly #updates: VolumeUpdates;
  #order = 0;
  readonly #pods = new Map<PodUid, PodMounts>();
  readonly #unmounts = new Map<PodUid, PodUnmount>();

  constructor(deps: VolumeManagerDeps) {
    const { clock, plugins, users } = deps.operations;
    this.#deps = deps;
    this.#setUp = new VolumeSetUp(deps);
    this.#slots = new Slots({ clock, count: parallelMounts, leaseMs: slotLeaseMs });
    const { attachments, lifecycles, log, mounts, operations } = deps;
    const pods = this.#pods;
    this.#updates = new VolumeUpdates({
      pods,
      mounts,
      setUp: this.#setUp,
      lifecycles,
      timing: deps.updates,
      clock,
      log,
    });
    this.inUse = new VolumesInUse({ operations, mounts, attachments, pods });
    this.wakes = [
      on(deps.updates.changed, (object) => this.#objectChanged(object)),
      on(users.changed, () => this.inUse.pokeAll()),
      ...plugins.flatMap((plugin) =>
        plugin.prerequisite === undefined
          ? []
          : [on(plugin.prerequisite.changed, () => this.#requirementsChanged(plugin))],
      ),
    ];
  }

  loopLoad(): LoopLoad {
    return this.#updates.load();
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
      this.#updates.poke(uid);
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
    const specs = this.#pods.get(uid)?.specs() ?? [];
    await this.#pods.get(uid)?.close(settleMs);
    const released: Promise<void>[] = [];
    const release = (key: string): void => void released.push(releases.releaseUnused(key, releaseMs));
    await unmount.attempt(() => this.#tearDown(uid, release, signal));
    mounts.delete(uid);
    this.#pods.delete(uid);
    await Promise.all(released);
    this.#unmounts.delete(uid);
    this.inUse.poke(specs);
    this.#updates.schedule(uid);
  }

  /** syncFrequency has changed. */
  scheduleUpdates(): void {
    for (const uid of this.#pods.keys()) this.#updates.schedule(uid);
  }

  /** The pod's mounts and unmounts in flight and failed, for /explain. */
  activities(uid: PodUid): readonly PodActivity[] {
    const unmounting = this.#unmounts.get(uid);
    return [
      ...(this.#pods.get(uid)?.activities() ?? []),
      ...(unmounting === undefined ? [] : [unmounting.activity()]),
      ...this.#deps.operations.plugins.flatMap((plugin) => plugin.activities?.(uid) ?? []),
    ];
  }

  /** The volumes that pods want and those that are mounted, by plugin. */
  counts(): VolumeCounts {
    const { mounts, operations } = this.#deps;
    const label = (plugin: VolumePlugin, spec: VolumeSpec): string => plugin.label?.(spec) ?? plugin.name;
    return {
      desired: [...this.#pods.values()].flatMap((pod) =>
        pod.specs().flatMap((spec) => {
          const plugin = operations.plugins.find((each) => each.canServe(spec));
          return plugin === undefined ? [] : [label(plugin, spec)];
        }),
      ),
      mounted: mounts
        .pods()
        .flatMap((uid) => mounts.ofPod(uid).map(({ plugin, spec }) => label(plugin, spec))),
    };
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
      onResolved: (spec) => this.inUse.poke([spec]),
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
    const unsubscribe = mounts.waits.subscribe(() => slot.release());
    try {
      const attempts = missing.map((volume) =>
        mounts.attempt(volume.name, () => this.#mountOne(mounts, volume)),
      );
      return await raceAbort(Promise.allSettled(attempts), signal);
    } finally {
      unsubscribe();
      slot.release();
    }
  }

  /** Unmounts what is on disk; repeats it while a volume is in use by a program that is about to exit. */
  async #tearDown(uid: PodUid, onUnused: (key: string) => void, signal: AbortSignal): Promise<void> {
    const { operations } = this.#deps;
    for (const delayMs of [...busyDelaysMs, undefined]) {
      try {
        return await tearDownPod(operations, uid, onUnused, signal);
      } catch (err) {
        if (delayMs === undefined || !isKind(err, 'conflict') || signal.aborted) throw err;
        await operations.clock.sleep(delayMs, signal);
      }
    }
  }

  /** What the plugin's volumes require may exist now: failed mounts and unmounts need not wait for their backoff. */
  #requirementsChanged(plugin: VolumePlugin): void {
    this.inUse.pokeAll();
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
    this.#updates.schedule(uid);
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
      this.#updates.poke(uid);
    }
  }
}
