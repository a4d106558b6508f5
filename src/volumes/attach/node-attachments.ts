// Which volumes the controller has attached to this node. Upstream: VerifyControllerAttachedVolume of the operation executor,
// and MarkVolumesAsReportedInUse.
// Invariants: the controller detaches no volume that the node's status names in volumesInUse, so a volume counts as attached only
// after a status with it was written, and by a state of the node that is not older than that write; a volume that the next status
// omits counts as detached from the moment that status is assembled.
import { laterObject } from '../../api/k8s/resource-version.ts';
import type { Node } from '../../api/k8s/types.ts';
import { Channel, mergeChannels, type Subscribable } from '../../base/channel.ts';

interface NodeAttachmentsDeps {
  readonly ownNode: { get(): Node | undefined; readonly changed: Subscribable<void> };
  /** enableControllerAttachDetach. */
  readonly byController: boolean;
}

export class NodeAttachments {
  readonly #deps: NodeAttachmentsDeps;
  readonly #written = new Channel<void>();
  #reported: ReadonlySet<string> = new Set();
  /** The API server's response to the last write of volumesInUse. */
  #node: Node | undefined;

  constructor(deps: NodeAttachmentsDeps) {
    this.#deps = deps;
  }

  /** Announces that what devicePath() and missing() return may have changed. */
  get changed(): Subscribable<void> {
    return mergeChannels(this.#deps.ownNode.changed, this.#written);
  }

  /** False: the kubelet itself attaches the kinds of volumes that it can. */
  get byController(): boolean {
    return this.#deps.byController;
  }

  /** A node status with these volumesInUse is about to be written. */
  aboutToReport(names: readonly string[]): void {
    this.#reported = new Set(names.filter((name) => this.#reported.has(name)));
  }

  /** The node status has these volumesInUse now. */
  reported(names: readonly string[], node: Node): void {
    this.#reported = new Set(names);
    this.#node = node;
    this.#written.push();
  }

  /** The device path of an attached volume, which is often empty; undefined if it is not attached yet. */
  devicePath(name: string): string | undefined {
    if (!this.#reported.has(name) || this.#node === undefined) return undefined;
    const watched = this.#deps.ownNode.get();
    const { status } = watched === undefined ? this.#node : laterObject(watched, this.#node);
    return status?.volumesAttached?.find((each) => each.name === name)?.devicePath;
  }

  /** What is missing until the volume counts as attached. */
  missing(name: string): string {
    return this.#reported.has(name)
      ? 'the attach/detach controller to attach it to this node'
      : 'the node status to report it in use';
  }
}
