// The attachable volumes that this node uses, for status.volumesInUse: controllers detach no volume that is named there.
// Upstream: getVolumesInUse of pkg/kubelet/volumemanager.
// Invariant: a volume is named from the moment its kind is known until it is unstaged, also over a restart of the kubelet.
import type { PodUid } from '../../api/pod/pod-ref.ts';
import { Channel } from '../../base/channel.ts';
import type { MountedVolumes } from '../mounted-volumes.ts';
import type { VolumeOperationDeps } from '../operation-deps.ts';
import type { VolumeSpec } from '../plugin.ts';
import type { PodMounts } from '../pod-mounts.ts';
import type { NodeAttachments } from './node-attachments.ts';

interface VolumesInUseDeps {
  readonly operations: Pick<VolumeOperationDeps, 'plugins' | 'users'>;
  readonly mounts: Pick<MountedVolumes, 'ofPod' | 'pods'>;
  readonly attachments: NodeAttachments | undefined;
  readonly pods: ReadonlyMap<PodUid, PodMounts>;
}

export class VolumesInUse {
  /** Announces that report() may return something else, except that every source has reported. */
  readonly changed = new Channel<void>();
  readonly #deps: VolumesInUseDeps;
  /** Undefined: the last status was written without them. */
  #announced: string | undefined = '';

  constructor(deps: VolumesInUseDeps) {
    this.#deps = deps;
  }

  /**
   * For the next status of the node. Undefined until every source has reported and the disk was read: volumes that an earlier
   * process mounted are known only then.
   */
  report(desired: { sourcesReady(): boolean }): readonly string[] | undefined {
    const { attachments, operations } = this.#deps;
    if (!operations.users.isLoaded || !desired.sourcesReady()) {
      this.#announced = undefined;
      return undefined;
    }
    const names = this.names();
    attachments?.aboutToReport(names);
    return names;
  }

  /** The unique names of the volumes that are wanted, mounted or staged here. Sorted. */
  names(): readonly string[] {
    const { mounts, operations, pods } = this.#deps;
    const wanted = [...pods.values()].flatMap((pod) => pod.specs());
    const mounted = mounts.pods().flatMap((uid) => mounts.ofPod(uid).map(({ spec }) => spec));
    const names = [...wanted, ...mounted].flatMap((spec) => this.#nameOf(spec) ?? []);
    return [...new Set([...names, ...operations.users.attachNames()])].sort();
  }

  /** These volumes are wanted now, or no longer. Most volumes are not attached, and cost nothing here. */
  poke(specs: readonly VolumeSpec[]): void {
    if (specs.some((spec) => this.#nameOf(spec) !== undefined)) this.pokeAll();
  }

  /** Whether volumes are attached at all, or which devices exist, may have changed. */
  pokeAll(): void {
    const names = this.names().join('\n');
    if (names === this.#announced) return;
    this.#announced = names;
    this.changed.push();
  }

  #nameOf(spec: VolumeSpec): string | undefined {
    return this.#deps.operations.plugins.find((each) => each.canServe(spec))?.attachName(spec);
  }
}
