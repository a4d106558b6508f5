// Reads on which CPUs the running containers run, when the assignments are lost. One bounded pass at start.
// Upstream: buildContainerMapFromRuntime in pkg/kubelet/cm, which does not read the CPUs.
import { ContainerState } from '../../api/cri/generated/runtime/v1/api.ts';
import { criLabels } from '../../api/cri/labels.ts';
import type { CriRuntime } from '../../api/cri/runtime.ts';
import { asContainerId, asPodUid, type ContainerId, type PodUid } from '../../api/pod/pod-ref.ts';
import { CpuSet } from './cpu-set.ts';

export interface CpusetReader {
  readonly cri: Pick<CriRuntime, 'listContainers'>;
  /** The container's cpuset.cpus; undefined if unknown. */
  cpusetOf(id: ContainerId, signal: AbortSignal): Promise<string | undefined>;
}

export interface SurveyedContainer {
  readonly id: ContainerId;
  readonly uid: PodUid;
  readonly name: string;
  /** Undefined if unknown or not restricted. */
  readonly cpus: CpuSet | undefined;
}

const parallelReads = 8;

/** Rejects if the containers cannot be listed. A container whose CPUs cannot be read has none. */
export async function surveyCpusets(
  runtime: CpusetReader,
  signal: AbortSignal,
): Promise<readonly SurveyedContainer[]> {
  const filter = { state: { state: ContainerState.CONTAINER_RUNNING } };
  const { containers } = await runtime.cri.listContainers({ filter }, { signal });
  const found: SurveyedContainer[] = [];
  const left = containers.values();
  const read = async (): Promise<void> => {
    for (const { id, labels } of left) {
      const uid = labels[criLabels.podUid];
      const name = labels[criLabels.containerName];
      if (uid === undefined || name === undefined) continue;
      const text = await runtime.cpusetOf(asContainerId(id), signal).catch(() => undefined);
      found.push({ id: asContainerId(id), uid: asPodUid(uid), name, cpus: parse(text) });
    }
  };
  await Promise.all(Array.from({ length: parallelReads }, read));
  return found.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

function parse(text: string | undefined): CpuSet | undefined {
  if (text === undefined) return undefined;
  try {
    const cpus = CpuSet.parse(text.trim());
    return cpus.isEmpty ? undefined : cpus;
  } catch {
    return undefined;
  }
}

/**
 * The sets that can only be exclusive: of CPUs that may be, and of no other pod. What is left may still be the shared CPUs of a
 * single container (with strict-cpu-reservation), which its admission settles.
 */
export function computeClaims(
  containers: readonly SurveyedContainer[],
  assignable: CpuSet,
): readonly (SurveyedContainer & { readonly cpus: CpuSet })[] {
  const candidates = containers.flatMap((each) => {
    const { cpus } = each;
    return cpus?.isSubsetOf(assignable) === true ? [{ ...each, cpus }] : [];
  });
  return candidates.filter(({ cpus, uid }) =>
    containers.every((other) => other.uid === uid || other.cpus === undefined || isApart(cpus, other.cpus)),
  );
}

/** A container with all of the shared CPUs does not contest them: it leaves them with the next update. */
function isApart(cpus: CpuSet, other: CpuSet): boolean {
  return cpus.intersection(other).isEmpty;
}
