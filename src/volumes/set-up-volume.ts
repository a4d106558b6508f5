// Sets up one volume of a pod: resolves its claim, checks it, calls its plugin and reports a failure.
// Upstream: createVolumeSpec of the desired state populator; GenerateMountVolumeFunc and GenerateMapVolumeFunc of the
// operation executor. Invariant: operations on one device run one at a time; each operation has the deadline of its plugin.
import type { Pod, Volume } from '../api/k8s/types.ts';
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import { type PodUid, podRef, podUid } from '../api/pod/pod-ref.ts';
import type { EventSink } from '../api/ports/events.ts';
import type { PodObjects } from '../api/ports/pod-objects.ts';
import { withDeadline } from '../base/abort/deadline.ts';
import { describeError, isKind, KubeletError } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';
import { untilAttached, untilAvailable, type WaitDeps } from './attach/wait-for-volume.ts';
import { mappedEvents, setUpDevice } from './devices/device-steps.ts';
import type { VolumeExpander } from './expansion/volume-expander.ts';
import { volumeDevicesDir, volumeDir } from './layout.ts';
import { ReportedError, type ReportedFailure, setUpFailure, unresolvedFailure } from './mount-failure.ts';
import type { MountedVolume, MountedVolumes } from './mounted-volumes.ts';
import type { VolumeOperationDeps } from './operation-deps.ts';
import type { SetUpRequest, SetUpVolume, VolumePlugin, VolumeSpec } from './plugin.ts';
import type { PodMounts } from './pod-mounts.ts';
import { checkExclusive, checkMountOptions, checkNodeAffinity } from './spec/check-persistent.ts';
import { pluginDirectory } from './spec/plugin-directory.ts';
import { volumeOwner } from './spec/pod-spec.ts';
import { type ClaimObjects, resolveVolume } from './spec/resolve-volume.ts';
import { observeOperation } from './volume-metrics-port.ts';

/** Reads whether a pod's containers are being stopped, or have been. */
export interface LifecycleView {
  get(uid: PodUid): Pick<PodLifecycle, 'state'> | undefined;
}

export interface VolumeSetUpDeps {
  readonly operations: VolumeOperationDeps;
  readonly mounts: Pick<MountedVolumes, 'get' | 'isMountedByOtherPod'>;
  readonly objects: ClaimObjects & Pick<PodObjects, 'node'>;
  readonly lifecycles: LifecycleView;
  readonly attachments: WaitDeps['attachments'];
  readonly expander: Pick<VolumeExpander, 'expand' | 'isDue'>;
  readonly events: EventSink;
  readonly log: Logger;
}

/** Deadline for resolving a claim to its persistent volume. */
const resolveDeadlineMs = 60_000;

export function isTerminating(lifecycles: LifecycleView, uid: PodUid): boolean {
  return (lifecycles.get(uid)?.state ?? 'syncing') !== 'syncing';
}

export class VolumeSetUp {
  readonly #deps: VolumeSetUpDeps;

  constructor(deps: VolumeSetUpDeps) {
    this.#deps = deps;
  }

  /** Mounts a volume for the first time in this process. Rejects, having reported the failure to the pod and the log. */
  async mount(mounts: PodMounts, volume: Volume): Promise<MountedVolume> {
    const { events, log, operations } = this.#deps;
    const { pod, signal } = mounts;
    let spec: VolumeSpec | undefined;
    try {
      spec = await this.resolve(pod, volume, signal);
      const plugin = this.#pluginOf(volume.name, spec);
      mounts.resolved(spec);
      await this.#checkNode(spec, signal);
      checkMountOptions(plugin, spec);
      const waits = { attachments: this.#deps.attachments, events, clock: operations.clock, log };
      await untilAvailable(waits, mounts, plugin, spec);
      const devicePath = await untilAttached(waits, mounts, plugin, spec);
      return await this.#setUp(mounts, plugin, spec, devicePath);
    } catch (err) {
      if (signal.aborted) throw err;
      if (err instanceof ReportedError) throw this.#report(mounts, volume.name, err.reported);
      const failure =
        spec === undefined || err instanceof NoPlugin
          ? unresolvedFailure(volume.name, err)
          : setUpFailure(spec, err);
      throw this.#report(mounts, volume.name, failure);
    }
  }

  /** Reads the claim and the persistent volume of a volume, if it has them, from the API server. */
  async resolve(pod: Pod, volume: Volume, signal: AbortSignal): Promise<VolumeSpec> {
    const { objects, operations } = this.#deps;
    const what = `mounting volume "${volume.name}"`;
    const deadline = { clock: operations.clock, ms: resolveDeadlineMs, signal, what };
    return await withDeadline(deadline, (within) => resolveVolume(objects, pod, volume, within));
  }

  /** Brings the content of a mounted volume up to date. Rejects as mount() does; the content then stays as it was. */
  async update(mounts: PodMounts, { plugin, spec }: MountedVolume): Promise<void> {
    const { signal } = mounts;
    try {
      await this.#setUp(mounts, plugin, spec, undefined);
      mounts.succeeded(spec.name);
    } catch (err) {
      if (signal.aborted) throw err;
      throw this.#report(mounts, spec.name, setUpFailure(spec, err));
    }
  }

  async #checkNode({ persistent }: VolumeSpec, signal: AbortSignal): Promise<void> {
    await checkNodeAffinity(persistent, () => this.#deps.objects.node(signal));
  }

  #pluginOf(name: string, spec: VolumeSpec): VolumePlugin {
    const plugin = this.#deps.operations.plugins.find((each) => each.canServe(spec));
    if (plugin !== undefined) return plugin;
    throw new NoPlugin(
      'invalid',
      'FailedMount',
      `failed to get Plugin from volumeSpec for volume "${name}" err=no volume plugin matched`,
    );
  }

  async #setUp(
    own: PodMounts,
    plugin: VolumePlugin,
    spec: VolumeSpec,
    devicePath: string | undefined,
  ): Promise<MountedVolume> {
    const { mounts, operations } = this.#deps;
    const { pod, signal } = own;
    const { clock, layout, locks, users } = operations;
    const uid = podUid(pod);
    const path = volumeDir(layout, uid, pluginDirectory(plugin, spec), spec.directoryName);
    const isRemount = mounts.get(uid, spec.name) !== undefined;
    const onWait = (): void => own.waits.push();
    const request = { pod, spec, path, owner: volumeOwner(pod), isRemount, devicePath, onWait };
    const what = `mounting volume "${spec.name}"`;
    const key = plugin.deviceKey(spec);
    // What an earlier process set up counts as used by its pods.
    if (key !== undefined) await users.load();
    if (key !== undefined && locks.isHeld(key)) own.waitsFor(spec.name, 'another operation on its device');
    const done = await withDeadline({ clock, ms: plugin.deadlineMs, signal, what }, (within) =>
      locks.run(key, within, async () => {
        own.waitsFor(spec.name, undefined);
        this.#checkExclusive(uid, spec, key);
        const place = placeOf(layout, uid, plugin, spec, path);
        if (key !== undefined) users.add(plugin, key, { uid, path: place });
        own.begin(spec.name);
        const same = isRemount ? undefined : own.setUpAt(place);
        const volume = same ?? (await this.#operate(own, plugin, request, within));
        own.wasSetUp(place, volume);
        if (!isRemount) await this.#expandFirst(plugin, request, volume, within);
        return volume;
      }),
    ).catch(async (err: unknown) => await this.#keep(plugin, request, err));
    const { location, managed, readOnly } = done;
    return { location, managed, readOnly, spec, plugin, mountedAtMs: clock.now() };
  }

  /** Brings a volume that was just set up to the size of its claim, before containers use it. */
  async #expandFirst(
    plugin: VolumePlugin,
    { devicePath, pod, spec }: SetUpRequest,
    { location }: SetUpVolume,
    signal: AbortSignal,
  ): Promise<void> {
    if (location.kind === 'image') return;
    const request = { pod, spec, plugin, path: location.path, devicePath, isMounted: false };
    const result = await this.#deps.expander.expand(request, signal);
    if (result.kind === 'failed') throw new ReportedError(result.failure);
  }

  /**
   * Reads the claim of a mounted volume again and expands the volume if the claim has grown. Returns the volume with what was
   * read. The outcome of the expansion is reported to the pod; the volume stays mounted in any case.
   */
  async grow(mounts: PodMounts, volume: MountedVolume): Promise<MountedVolume> {
    const { expander, operations } = this.#deps;
    const { pod, signal } = mounts;
    const { location, plugin } = volume;
    const own = pod.spec?.volumes?.find(({ name }) => name === volume.spec.name);
    if (own === undefined || location.kind === 'image') return volume;
    const spec = await this.resolve(pod, own, signal);
    const request = { pod, spec, plugin, path: location.path, isMounted: true };
    if (expander.isDue(request))
      await operations.locks.run(plugin.deviceKey(spec), signal, () =>
        mounts.operate(() => expander.expand(request, signal)),
      );
    return { ...volume, spec };
  }

  async #operate(
    own: PodMounts,
    plugin: VolumePlugin,
    request: SetUpRequest,
    signal: AbortSignal,
  ): Promise<SetUpVolume> {
    const { events, operations } = this.#deps;
    const { spec } = request;
    const operation = {
      plugin: plugin.label?.(spec) ?? plugin.name,
      operation: spec.isBlock ? 'map_volume' : 'volume_mount',
      migrated: spec.isMigrated === true,
    } as const;
    const volume = await observeOperation(operations, operation, () =>
      own.operate(() =>
        spec.isBlock ? setUpDevice(operations, plugin, request, signal) : plugin.setUp(request, signal),
      ),
    );
    if (spec.isBlock)
      for (const event of mappedEvents(operations, plugin, request)) events.pod(own.pod, event);
    return volume;
  }

  /** Under the lock of the device, so that of two pods only one passes. */
  #checkExclusive(uid: PodUid, { persistent }: VolumeSpec, key: string | undefined): void {
    const { mounts, operations } = this.#deps;
    checkExclusive(
      persistent,
      (name) =>
        mounts.isMountedByOtherPod(name, uid) ||
        (key !== undefined && operations.users.isUsedByOther(key, uid)),
    );
  }

  /**
   * Falls back to the content that an earlier kubelet process mounted while the API server is unavailable; an update follows.
   * Rethrows the error otherwise.
   */
  async #keep(plugin: VolumePlugin, { pod, spec, path }: SetUpRequest, err: unknown): Promise<SetUpVolume> {
    const uid = podUid(pod);
    const isUnavailable = isKind(err, 'unavailable') || isKind(err, 'timeout');
    const isFirst = this.#deps.mounts.get(uid, spec.name) === undefined;
    const { directoryName } = spec;
    const mayKeep = isUnavailable && isFirst && !spec.isBlock;
    const kept = mayKeep ? await plugin.reconstruct({ uid, path, directoryName }) : undefined;
    if (kept === undefined) throw err;
    this.#deps.log.info('Kept the existing content of the volume, its source is unavailable', {
      pod: podRef(pod),
      volume: spec.name,
      err: describeError(err),
    });
    return { ...kept, readOnly: kept.readOnly || spec.readOnly };
  }

  /**
   * Emits an event and logs a warning, once per attempt. For a terminating pod it logs only at -v 4, since nothing waits for its
   * volumes any more.
   */
  #report(mounts: PodMounts, name: string, { failure, event }: ReportedFailure): KubeletError {
    const { events, lifecycles, log } = this.#deps;
    const details = { pod: podRef(mounts.pod), volume: name, err: describeError(failure.cause ?? failure) };
    if (isTerminating(lifecycles, podUid(mounts.pod))) {
      log.v(4).info('Failed to update volume of a terminating pod', details);
      return failure;
    }
    const retryInMs = mounts.failed(name, failure);
    if (event !== undefined) events.pod(mounts.pod, { type: 'Warning', ...event });
    log.warn('Failed to mount volume', { ...details, retryInMs });
    return failure;
  }
}

/** The node has no plugin for this kind of volume. */
class NoPlugin extends KubeletError {}

/** Where tear-down finds the volume in the pod's directory. */
function placeOf(
  layout: VolumeOperationDeps['layout'],
  uid: PodUid,
  plugin: VolumePlugin,
  spec: VolumeSpec,
  path: string,
): string {
  if (!spec.isBlock) return path;
  return `${volumeDevicesDir(layout, uid)}/${pluginDirectory(plugin, spec)}/${spec.directoryName}`;
}
