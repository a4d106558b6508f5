// What runs on the node right now, and on which CPUs and memory nodes it really runs: read by the managers whose state was lost.
// Upstream: buildContainerMapFromRuntime in pkg/kubelet/cm, which does not read cgroups.
// Invariant: every call has a deadline, so that a runtime that hangs does not keep the kubelet from starting.
import { type Container, ContainerState } from '../../api/cri/generated/runtime/v1/api.ts';
import { criLabels } from '../../api/cri/labels.ts';
import type { CriRuntime } from '../../api/cri/runtime.ts';
import { asContainerId, asPodUid, type ContainerId, type PodUid } from '../../api/pod/pod-ref.ts';
import type { CgroupName, Cgroups, Cpuset } from '../../api/ports/cgroups.ts';
import { withDeadline } from '../../base/abort/deadline.ts';
import type { Clock } from '../../base/clock.ts';
import { containerCgroupNames, podCgroupName, possiblePodCgroups } from './cgroup-names.ts';

interface RunningContainersDeps {
  readonly cri: Pick<CriRuntime, 'listContainers' | 'containerStatus'>;
  /** Undefined if pods have no cgroups of their own. */
  readonly cgroups: Pick<Cgroups, 'cpuset' | 'exists'> | undefined;
  /** The cgroup of all pods. */
  readonly root: CgroupName;
  readonly clock: Clock;
}

interface RunningContainer {
  readonly id: ContainerId;
  readonly uid: PodUid;
  /** `namespace/name` */
  readonly pod: string;
  readonly container: string;
  readonly annotations: Readonly<Record<string, string>>;
}

const listMs = 5_000;
const what = 'the list of running containers';

export class RunningContainers {
  readonly #deps: RunningContainersDeps;

  constructor(deps: RunningContainersDeps) {
    this.#deps = deps;
  }

  /** Containers that no kubelet created are left out. */
  async list(signal?: AbortSignal): Promise<readonly RunningContainer[]> {
    const { clock, cri } = this.#deps;
    const filter = { state: { state: ContainerState.CONTAINER_RUNNING } };
    const { containers } = await withDeadline(
      { clock, ms: listMs, what, ...(signal && { signal }) },
      (inner) => cri.listContainers({ filter }, { signal: inner }),
    );
    return containers.flatMap(runningContainer);
  }

  /** Those of Guaranteed pods, whose cgroups are directly below that of all pods. */
  async listGuaranteed(): Promise<readonly RunningContainer[]> {
    const { cgroups, root } = this.#deps;
    if (cgroups === undefined) return [];
    const all = await this.list();
    const found = await Promise.all(
      all.map((each) => cgroups.exists(podCgroupName(root, 'Guaranteed', each.uid))),
    );
    return all.filter((_, at) => found[at] === true);
  }

  /** cpuset.cpus; empty if the container is not restricted, undefined if unknown. */
  async cpusOf(id: ContainerId, signal?: AbortSignal): Promise<string | undefined> {
    return (await this.#cpusetOf(id, signal))?.cpus;
  }

  /** cpuset.mems; empty if the container is not restricted, undefined if unknown. */
  async memoryNodesOf(id: ContainerId): Promise<string | undefined> {
    return (await this.#cpusetOf(id))?.memoryNodes;
  }

  async #cpusetOf(id: ContainerId, signal?: AbortSignal): Promise<Cpuset | undefined> {
    const { cgroups, clock, cri, root } = this.#deps;
    if (cgroups === undefined) return undefined;
    const { status } = await withDeadline(
      { clock, ms: listMs, what: 'the status of a container', ...(signal && { signal }) },
      (inner) => cri.containerStatus({ containerId: id, verbose: false }, { signal: inner }),
    );
    for (const name of possiblePodCgroups(root, status?.labels[criLabels.podUid] ?? '')) {
      for (const own of containerCgroupNames(id)) {
        const found = await cgroups.cpuset(name, own);
        if (found !== undefined) return found;
      }
    }
    return undefined;
  }
}

function runningContainer({ annotations, id, labels }: Container): readonly RunningContainer[] {
  const { [criLabels.containerName]: container, [criLabels.podUid]: uid } = labels;
  if (container === undefined || uid === undefined) return [];
  const pod = `${labels[criLabels.podNamespace] ?? ''}/${labels[criLabels.podName] ?? ''}`;
  return [{ id: asContainerId(id), uid: asPodUid(uid), pod, container, annotations }];
}
