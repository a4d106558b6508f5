// Mounts a pod's volumes before its containers start, and takes them down after they have ended. Sole writer of MountedVolumes.
// Upstream: pkg/kubelet/volumemanager, without its polling: a mount is made when the pod's worker asks for it.
// Invariants: volumes of a pod are mounted side by side, and one that hangs or fails holds up its pod only; whoever gives up
// waiting leaves the attempt to go on; a pod whose volumes are being taken down gets no new ones.

import type { Container, Pod, Volume } from '../api/k8s/types.ts';
import { type PodUid, podRef, podUid } from '../api/pod/pod-ref.ts';
import type { ContainerMounts, PodVolumes } from '../api/pod/pod-volumes.ts';
import type { EventSink } from '../api/ports/events.ts';
import type { PodActivity } from '../api/ports/pod-activity.ts';
import type { ChangedObject, PodObjects } from '../api/ports/pod-objects.ts';
import { withDeadline } from '../base/abort/deadline.ts';
import { raceAbort } from '../base/abort/race-abort.ts';
import { Channel } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import { describeError, isKind, KubeletError } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';
import { Slots } from '../base/slots.ts';
import { type ContainerMountsDeps, containerDevices, containerMounts } from './container-mounts.ts';
import { setUpDevice } from './devices/device-steps.ts';
import { volumeDir } from './layout.ts';
import { mountFailure, unresolved } from './mount-failure.ts';
import type { MountedVolume, MountedVolumes } from './mounted-volumes.ts';
import type { SetUpRequest, SetUpVolume, VolumePlugin, VolumeSpec } from './plugin.ts';
import { PodMounts } from './pod-mounts.ts';
import { checkPersistent, nodeAffinity } from './spec/check-persistent.ts';
import { usedVolumes, volumeOwner } from './spec/pod-spec.ts';
import { pluginOf, refersTo } from './spec/refers-to.ts';
import { type ClaimObjects, resolveVolume } from './spec/resolve-volume.ts';
import { type TearDownDeps, tearDownPod } from './tear-down.ts';
import { type ObserveOperation, timed } from './timed.ts';

interface VolumeManagerDeps {
  readonly mounts: MountedVolumes;
  readonly teardown: TearDownDeps;
  readonly containers: ContainerMountsDeps;
  readonly objects: ClaimObjects & Pick<PodObjects, 'node'>;
  readonly events: EventSink;
  /** Whether a pod's containers are being stopped, or have been. */
  readonly isEnding: (uid: PodUid) => boolean;
  /** Told of each mount: how long it took, and how it ended. */
  readonly observe: ObserveOperation;
  readonly clock: Clock;
  readonly log: Logger;
}

/** How long it may take to follow a claim to its volume. */
const resolveDeadlineMs = 60_000;
/** Pods that mount at once; one that takes longer than the lease does not count any more. */
const parallelPods = 8;
const slotLeaseMs = 500;
/** How long an attempt that was called off may take to end. */
const settleMs = 5_000;
/** Waits between attempts to unmount what is in use; then the caller is told. */
const busyWaitsMs = [50, 100, 200, 400, 800, 1_600];

export class VolumeManager implements PodVolumes {
  /** Announces a pod whose mount should be tried again: a back-off is over, or an object it waits for has come. */
  readonly wake = new Channel<PodUid>();
  /** Announces a pod whose object has changed, so that files made from it may have to. */
  readonly podChanged = new Channel<PodUid>();
  readonly #deps: VolumeManagerDeps;
  readonly #slots: Slots;
  #order = 0;
  readonly #pods = new Map<PodUid, PodMounts>();

  constructor(deps: VolumeManagerDeps) {
    this.#deps = deps;
    this.#slots = new Slots({ clock: deps.clock, count: parallelPods, leaseMs: slotLeaseMs });
  }

  async mount(pod: Pod, signal: AbortSignal): Promise<void> {
    const uid = podUid(pod);
    const mounts = this.#podMounts(pod);
    if (mounts.hasEnded)
      throw new KubeletError('conflict', 'FailedMount', 'the volumes of this pod are being taken down');
    if (mounts.pod !== pod) {
      mounts.pod = pod;
      this.podChanged.push(uid);
    }
    const missing = usedVolumes(pod).filter(({ name }) => this.#deps.mounts.get(uid, name) === undefined);
    if (missing.length === 0) return;
    const ends = await this.#attemptAll(mounts, missing, signal);
    const failures = ends.flatMap((end, at) =>
      end.status === 'rejected' ? [{ name: missing[at]?.name ?? '', err: end.reason as unknown }] : [],
    );
    if (failures.length > 0) throw mountFailure(failures);
  }

  async containerMounts(
    pod: Pod,
    container: Container,
    options: { readonly expand: (text: string) => string },
    signal: AbortSignal,
  ): Promise<ContainerMounts> {
    const uid = podUid(pod);
    const mounted = (name: string): MountedVolume | undefined => this.#deps.mounts.get(uid, name);
    const request = { pod, container, mounted, expand: options.expand };
    return {
      mounts: await containerMounts(this.#deps.containers, request, signal),
      devices: containerDevices(request),
    };
  }

  async unmount(uid: PodUid, signal: AbortSignal): Promise<void> {
    const { clock, mounts, teardown } = this.#deps;
    await this.#pods.get(uid)?.end(settleMs);
    for (const waitMs of [...busyWaitsMs, undefined]) {
      try {
        await tearDownPod(teardown, uid, signal);
        break;
      } catch (err) {
        if (waitMs === undefined || !isKind(err, 'conflict') || signal.aborted) throw err;
        await clock.sleep(waitMs, signal);
      }
    }
    mounts.delete(uid);
    this.#pods.delete(uid);
  }

  /** What the pod waits for here now, for who explains it. */
  activities(uid: PodUid): readonly PodActivity[] {
    return this.#pods.get(uid)?.activities() ?? [];
  }

  /** The pods whose volumes come from this object; those that wait for it try again at once. */
  objectChanged(changed: ChangedObject): readonly PodUid[] {
    const touched: PodUid[] = [];
    for (const [uid, mounts] of this.#pods) {
      // Objects often go with their pods. What changes now reaches one that takes long to end by its next refresh.
      if (this.#deps.isEnding(uid)) continue;
      const volumes = usedVolumes(mounts.pod).filter((volume) =>
        refersTo(this.#deps.teardown.plugins, mounts.pod, volume, changed),
      );
      if (volumes.length === 0) continue;
      touched.push(uid);
      const waiting = volumes.filter(({ name }) => mounts.retryNow(name));
      if (waiting.length > 0) this.wake.push(uid);
    }
    return touched;
  }

  // differs from upstream: a pod that ends is refreshed too, so that its token lasts as long as it does.
  /** Writes anew what has changed in a pod's volumes. What cannot be brought up to date keeps its content. */
  async refresh(uid: PodUid): Promise<void> {
    const mounts = this.#pods.get(uid);
    if (mounts === undefined || mounts.hasEnded) return;
    const volumes = this.#deps.mounts.ofPod(uid).filter(({ plugin }) => plugin.needsRefresh);
    const ends = await Promise.allSettled(
      volumes.map((volume) => mounts.attempt(volume.spec.name, () => this.#setUpAgain(mounts, volume))),
    );
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed !== undefined && !mounts.hasEnded && !this.#deps.isEnding(uid)) throw failed.reason;
  }

  /** The names of the plugins of all volumes that pods want, once per volume. */
  wanted(): readonly string[] {
    const { plugins } = this.#deps.teardown;
    return [...this.#pods.values()].flatMap(({ pod }) =>
      usedVolumes(pod).flatMap((volume) => pluginOf(plugins, volume)?.name ?? []),
    );
  }

  /** The names of volumes that are attached to this node and wanted or mounted here, for its status. Sorted. */
  inUse(): readonly string[] {
    const { mounts, teardown } = this.#deps;
    const wanted = [...this.#pods.values()].flatMap((pod) => pod.specs());
    const mounted = mounts.pods().flatMap((uid) => mounts.ofPod(uid).map(({ spec }) => spec));
    const names = [...wanted, ...mounted].flatMap(
      (spec) => teardown.plugins.find((each) => each.canServe(spec))?.attachName(spec) ?? [],
    );
    return [...new Set(names)].sort();
  }

  /** Ends attempts under way; what is mounted stays. */
  async stop(): Promise<void> {
    await Promise.all([...this.#pods.values()].map((mounts) => mounts.end(settleMs)));
    this.#pods.clear();
  }

  #podMounts(pod: Pod): PodMounts {
    const uid = podUid(pod);
    const known = this.#pods.get(uid);
    if (known !== undefined) return known;
    const mounts = new PodMounts(pod, this.#deps.clock, () => this.wake.push(uid));
    this.#pods.set(uid, mounts);
    return mounts;
  }

  /** In a burst the pods that came first are done first, instead of all of them at the end. */
  async #attemptAll(
    mounts: PodMounts,
    missing: readonly Volume[],
    signal: AbortSignal,
  ): Promise<readonly PromiseSettledResult<void>[]> {
    const slot = await this.#slots.acquire(this.#order++, signal);
    try {
      const attempts = missing.map((volume) => mounts.attempt(volume.name, () => this.#try(mounts, volume)));
      return await raceAbort(Promise.allSettled(attempts), signal);
    } finally {
      slot.release();
    }
  }

  async #try(mounts: PodMounts, volume: Volume): Promise<void> {
    const { clock } = this.#deps;
    const { pod, signal } = mounts;
    const what = `mounting volume "${volume.name}"`;
    let spec: VolumeSpec | undefined;
    try {
      spec = await withDeadline({ clock, ms: resolveDeadlineMs, signal, what }, (within) =>
        resolveVolume(this.#deps.objects, pod, volume, within),
      );
      mounts.resolved(spec);
      await this.#check(pod, spec, signal);
      const mounted = await this.#setUp(pod, spec, signal);
      if (mounts.hasEnded) return;
      mounts.succeeded(volume.name);
      this.#deps.mounts.set(podUid(pod), mounted);
    } catch (err) {
      if (signal.aborted) throw err;
      throw spec === undefined
        ? this.#reportUnresolved(mounts, volume.name, err)
        : this.#reportFailure(mounts, spec, err);
    }
  }

  async #check(pod: Pod, { persistent }: VolumeSpec, signal: AbortSignal): Promise<void> {
    const { mounts, objects } = this.#deps;
    await checkPersistent(persistent, {
      node: () => objects.node(signal),
      isMountedElsewhere: (name) => mounts.isMountedElsewhere(name, podUid(pod)),
    });
  }

  async #setUp(pod: Pod, spec: MountedVolume['spec'], signal: AbortSignal): Promise<MountedVolume> {
    const { clock, observe, teardown } = this.#deps;
    const plugin = teardown.plugins.find((each) => each.canServe(spec));
    if (plugin === undefined) throw new KubeletError('invalid', 'FailedMount', 'no volume plugin matched');
    const path = volumeDir(teardown.layout, podUid(pod), plugin.name, spec.directoryName);
    const again = this.#deps.mounts.get(podUid(pod), spec.name) !== undefined;
    const request = { pod, spec, path, owner: volumeOwner(pod), again };
    const what = `mounting volume "${spec.name}"`;
    const operation = spec.isBlock ? 'map_volume' : 'volume_mount';
    const name = { plugin: plugin.name, operation } as const;
    const done = await withDeadline({ clock, ms: plugin.deadlineMs, signal, what }, (within) =>
      teardown.locks.run(plugin.deviceKey(spec), within, () =>
        timed(clock, observe, name, () =>
          spec.isBlock ? setUpDevice(teardown, plugin, request, within) : plugin.setUp(request, within),
        ),
      ),
    ).catch(async (err: unknown) => await this.#keep(plugin, request, err));
    return { ...done, spec, plugin, mountedAtMs: clock.now() };
  }

  /** A volume of an earlier life goes on with its content while the API server is away; a refresh follows. */
  async #keep(plugin: VolumePlugin, { pod, spec, path }: SetUpRequest, err: unknown): Promise<SetUpVolume> {
    const uid = podUid(pod);
    const isAway = isKind(err, 'unavailable') || isKind(err, 'timeout');
    const isFirst = this.#deps.mounts.get(uid, spec.name) === undefined;
    const { directoryName } = spec;
    const mayKeep = isAway && isFirst && !spec.isBlock;
    const kept = mayKeep ? await plugin.reconstruct({ uid, path, directoryName }) : undefined;
    if (kept === undefined) throw err;
    this.#deps.log.info('Volume keeps the content it has, since it cannot be brought up to date', {
      pod: podRef(pod),
      volume: spec.name,
      err: describeError(err),
    });
    return kept;
  }

  async #setUpAgain(mounts: PodMounts, volume: MountedVolume): Promise<void> {
    const { pod, signal } = mounts;
    try {
      await this.#setUp(pod, volume.spec, signal);
      mounts.succeeded(volume.spec.name);
    } catch (err) {
      if (signal.aborted) throw err;
      throw this.#reportFailure(mounts, volume.spec, err);
    }
  }

  /** Nobody knows yet what would have to be mounted. */
  #reportUnresolved(mounts: PodMounts, name: string, err: unknown): KubeletError {
    const failure = unresolved(err);
    const message = `Unable to attach or mount volumes: ${mountFailure([{ name, err: failure }]).message}`;
    this.#tell(mounts, name, failure, { reason: 'FailedMount', message });
    return failure;
  }

  #reportFailure(
    mounts: PodMounts,
    { name, directoryName, isBlock }: Pick<VolumeSpec, 'name' | 'directoryName' | 'isBlock'>,
    err: unknown,
  ): KubeletError {
    const isElsewhere = err instanceof KubeletError && err.reason === nodeAffinity;
    const step = isElsewhere ? 'NodeAffinity check' : isBlock ? 'SetUpDevice' : 'SetUp';
    const what = isBlock ? 'MapVolume' : 'MountVolume';
    const message = `${what}.${step} failed for volume "${directoryName}" : ${describeError(err)}`;
    const kind = err instanceof KubeletError ? err.kind : 'internal';
    const failure = new KubeletError(kind, 'FailedMount', message, { cause: err });
    this.#tell(mounts, name, failure, { reason: isBlock ? 'FailedMapVolume' : 'FailedMount', message });
    return failure;
  }

  /**
   * Tells the pod's owner by an event and the node's by a line, once per attempt; of a pod that ends only who reads details,
   * since nothing waits for its volumes any more.
   */
  #tell(
    mounts: PodMounts,
    name: string,
    failure: KubeletError,
    event: { readonly reason: string; readonly message: string },
  ): void {
    const { events, isEnding, log } = this.#deps;
    const details = { pod: podRef(mounts.pod), volume: name, err: describeError(failure.cause ?? failure) };
    if (isEnding(podUid(mounts.pod))) {
      log.v(4).info('Volume of an ending pod keeps what it has', details);
      return;
    }
    const retryInMs = mounts.failed(name, failure);
    events.pod(mounts.pod, { type: 'Warning', ...event });
    log.warn('Volume cannot be mounted', { ...details, retryInMs });
  }
}
