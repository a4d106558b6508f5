// Whether the records of allocated devices are complete. They may not be if the checkpoint was lost: containers that run since then
// may use devices that no record names, and the plugin does not know which.
// Invariant: while a running container may use an unknown device of a resource, no device of that resource is given away.
// Not in upstream, which gives such devices to another pod.
import type { Pod } from '../../api/k8s/types.ts';
import { initAndRegularContainers } from '../../api/pod/find-container.ts';
import { type PodUid, podRef, podUid } from '../../api/pod/pod-ref.ts';
import { containerDeviceRequests } from './device-requests.ts';
import type { HeldDevices } from './held-devices.ts';

export interface PodsView {
  /** The desired pods. */
  all(): Iterable<Pod>;
  /** Whether every source of pods has reported. */
  sourcesReady(): boolean;
  /** Whether the pod is neither ended nor unknown. */
  isActive(uid: PodUid): boolean;
  /** Whether a container of this name was running when the pod was last inspected. */
  isRunning(uid: PodUid, containerName: string): boolean;
  /** False until the runtime has reported whether it has the pod. */
  isInspected(uid: PodUid): boolean;
}

export class DeviceRecords {
  readonly #held: Pick<HeldDevices, 'get'>;
  readonly #pods: PodsView;
  #isComplete = true;

  constructor(held: Pick<HeldDevices, 'get'>, pods: PodsView) {
    this.#held = held;
    this.#pods = pods;
  }

  /** The checkpoint was lost, or is older than the last allocation. */
  markIncomplete(): void {
    this.#isComplete = false;
  }

  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Whether unknown devices of the resource may be in use. */
  isWithheld(resource: string): boolean {
    if (this.#isComplete) return false;
    return !this.#pods.sourcesReady() || this.unrecorded().some((each) => each.resource === resource);
  }

  /** Whether the runtime has reported every pod of every source. */
  get areKnown(): boolean {
    return (
      this.#pods.sourcesReady() && [...this.#pods.all()].every((pod) => this.#pods.isInspected(podUid(pod)))
    );
  }

  /** The containers that run, or may run, request devices and have no record of them. */
  unrecorded(): readonly { readonly pod: string; readonly resource: string }[] {
    if (this.#isComplete) return [];
    const found = [...this.#pods.all()].flatMap((pod) => {
      const uid = podUid(pod);
      return initAndRegularContainers(pod)
        .filter(({ name }) => !this.#pods.isInspected(uid) || this.#pods.isRunning(uid, name))
        .flatMap((container) =>
          containerDeviceRequests(pod, container)
            .filter(
              ([resource]) => this.#held.get({ uid, container: container.name, resource }) === undefined,
            )
            .map(([resource]) => ({ pod: podRef(pod), resource })),
        );
    });
    if (found.length === 0 && this.areKnown) this.#isComplete = true;
    return found;
  }
}
