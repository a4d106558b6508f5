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
import { setUpDevice } from './devices/device-steps.ts';
import { volumeDir } from './layout.ts';
import { type ReportedFailure, setUpFailure, unresolvedFailure } from './mount-failure.ts';
import type { MountedVolume, MountedVolumes } from './mounted-volumes.ts';
import type { VolumeOperationDeps } from './operation-deps.ts';
import type { SetUpRequest, SetUpVolume, VolumePlugin, VolumeSpec } from './plugin.ts';
import type { PodMounts } from './pod-mounts.ts';
import { checkPersistent } from './spec/check-persistent.ts';
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
    const { objects, operations } = this.#deps;
    const { pod, signal } = mounts;
    const what = `mounting volume "${volume.name}"`;
    const deadline = { clock: operations.clock, ms: resolveDeadlineMs, signal, what };
    let spec: VolumeSpec | undefined;
    try {
      spec = await withDeadline(deadline, (within) => resolveVolume(objects, pod, volume, within));
      mounts.resolved(spec);
      await this.#check(pod, spec, signal);
      return await this.#setUp(mounts, spec);
    } catch (err) {
      if (signal.aborted) throw err;
      const failure = spec === undefined ? unresolvedFailure(volume.name, err) : setUpFailure(spec, err);
      throw this.#report(mounts, volume.name, failure);
    }
  }

  /** Brings the content of a mounted volume up to date. Rejects as mount() does; the content then stays as it was. */
  async update(mounts: PodMounts, { spec }: MountedVolume): Promise<void> {
    const { signal } = mounts;
    try {
      await this.#setUp(mounts, spec);
      mounts.succeeded(spec.name);
    } catch (err) {
      if (signal.aborted) throw err;
      throw this.#report(mounts, spec.name, setUpFailure(spec, err));
    }
  }

  async #check(pod: Pod, { persistent }: VolumeSpec, signal: AbortSignal): Promise<void> {
    const { mounts, objects } = this.#deps;
    await checkPersistent(persistent, {
      node: () => objects.node(signal),
      isMountedByOtherPod: (name) => mounts.isMountedByOtherPod(name, podUid(pod)),
    });
  }

  async #setUp(own: PodMounts, spec: VolumeSpec): Promise<MountedVolume> {
    const { mounts, operations } = this.#deps;
    const { pod, signal } = own;
    const { clock, layout, locks, plugins } = operations;
    const plugin = plugins.find((each) => each.canServe(spec));
    if (plugin === undefined) throw new KubeletError('invalid', 'FailedMount', 'no volume plugin matched');
    const path = volumeDir(layout, podUid(pod), plugin.name, spec.directoryName);
    const isRemount = mounts.get(podUid(pod), spec.name) !== undefined;
    const request = { pod, spec, path, owner: volumeOwner(pod), isRemount };
    const what = `mounting volume "${spec.name}"`;
    const operation = {
      plugin: plugin.name,
      operation: spec.isBlock ? 'map_volume' : 'volume_mount',
    } as const;
    const done = await withDeadline({ clock, ms: plugin.deadlineMs, signal, what }, (within) =>
      locks.run(plugin.deviceKey(spec), within, () =>
        observeOperation(operations, operation, () =>
          own.operate(() =>
            spec.isBlock ? setUpDevice(operations, plugin, request, within) : plugin.setUp(request, within),
          ),
        ),
      ),
    ).catch(async (err: unknown) => await this.#keep(plugin, request, err));
    return { ...done, spec, plugin, mountedAtMs: clock.now() };
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
    return kept;
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
    events.pod(mounts.pod, { type: 'Warning', ...event });
    log.warn('Failed to mount volume', { ...details, retryInMs });
    return failure;
  }
}
