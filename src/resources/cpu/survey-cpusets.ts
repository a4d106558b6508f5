// Reads on which CPUs the running containers run, when the assignments are lost. One bounded pass at start.
// Upstream: buildContainerMapFromRuntime in pkg/kubelet/cm, which does not read the CPUs.
import { ContainerState } from '../../api/cri/generated/runtime/v1/api.ts';
import { criLabels } from '../../api/cri/labels.ts';
import type { CriRuntime } from '../../api/cri/runtime.ts';
import { asContainerId, asPodUid, type ContainerId, type PodUid } from '../../api/pod/pod-ref.ts';
import { withDeadline } from '../../base/abort/deadline.ts';
import type { Clock } from '../../base/clock.ts';
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
  /** Undefined if unknown; empty if the container is not restricted. */
  readonly cpus: CpuSet | undefined;
}

interface SurveyLimits {
  readonly clock: Clock;
  readonly ms: number;
  readonly signal: AbortSignal;
}

const parallelReads = 8;
const what = 'read the CPUs of running containers';

/**
 * Rejects if the containers cannot be listed in time. The CPUs of a container that are not read in time are unknown, whatever
 * the others do.
 */
export async function surveyCpusets(
  runtime: CpusetReader,
  { clock, ms, signal }: SurveyLimits,
): Promise<readonly SurveyedContainer[]> {
  const limits = { clock, ms, signal, what };
  const filter = { state: { state: ContainerState.CONTAINER_RUNNING } };
  const { containers } = await withDeadline(limits, (each) =>
    runtime.cri.listContainers({ filter }, { signal: each }),
  );
  const found = containers.flatMap(({ id, labels }) => {
    const uid = labels[criLabels.podUid];
    const name = labels[criLabels.containerName];
    return uid === undefined || name === undefined
      ? []
      : [{ id: asContainerId(id), uid: asPodUid(uid), name }];
  });
  const cpus = new Map<ContainerId, CpuSet | undefined>();
  const left = found.values();
  const read = async (): Promise<void> => {
    for (const { id } of left) {
      const text = await withDeadline({ ...limits, ms: ms / 2 }, (each) => runtime.cpusetOf(id, each)).catch(
        () => undefined,
      );
      cpus.set(id, parse(text));
    }
  };
  const reads = Promise.all(Array.from({ length: parallelReads }, read));
  await withDeadline(limits, () => reads).catch(() => signal.throwIfAborted());
  return found
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .map((each) => ({ ...each, cpus: cpus.get(each.id) }));
}

function parse(text: string | undefined): CpuSet | undefined {
  if (text === undefined) return undefined;
  try {
    return CpuSet.parse(text.trim());
  } catch {
    return undefined;
  }
}

type Claim = SurveyedContainer & { readonly cpus: CpuSet };

/**
 * The sets that seem to be exclusive: of CPUs that may be, and no other pod has a part of them. `isStrict`: shared containers are
 * not on reserved CPUs either; if no CPU is left for them, the largest set must be theirs.
 */
export function computeClaims(
  containers: readonly SurveyedContainer[],
  assignable: CpuSet,
  isStrict: boolean,
): readonly Claim[] {
  const candidates = containers.flatMap((each): readonly Claim[] => {
    const { cpus } = each;
    return cpus === undefined || cpus.isEmpty || !cpus.isSubsetOf(assignable) ? [] : [{ ...each, cpus }];
  });
  const claims = candidates.filter(({ cpus, uid }) =>
    candidates.every((other) => other.uid === uid || other.cpus.intersection(cpus).isEmpty),
  );
  const claimed = claims.reduce((all, { cpus }) => all.union(cpus), CpuSet.empty);
  if (!isStrict || !claimed.equals(assignable)) return claims;
  const largest = claims.reduce((most, { cpus }) => Math.max(most, cpus.size), 0);
  return claims.filter(({ cpus }) => cpus.size < largest);
}
