// Whether a pod's running containers have what they were allocated, and how that is told. Pure.
// Upstream: isPodResizeInProgress and podResizeCompletionMsg in pkg/kubelet/allocation.

import { goJsonString } from '../../api/k8s/go-json.ts';
import type { Container, Pod, ResourceRequirements } from '../../api/k8s/types.ts';
import { longRunningContainers } from '../../api/pod/find-container.ts';
import { latestContainer, type ObservedPod, type ObservedResources } from '../../api/pod/observed.ts';
import { resizeAmounts, sameResizeAmounts } from '../../api/pod/resize.ts';
import { milliCpuToShares } from '../../api/quantity/cpu-shares.ts';
import { encodeRequirements } from './allocation-checkpoint.ts';

type Actuated = (container: string) => ResourceRequirements | undefined;

/** Containers that do not run are sized right when they start. */
export function isInProgress(allocated: Pod, seen: ObservedPod | undefined, actuated: Actuated): boolean {
  return running(allocated, seen).some(
    ({ name, resources }) => !sameResizeAmounts(resizeAmounts(resources), resizeAmounts(actuated(name))),
  );
}

/**
 * Running containers of which nobody remembers what they were given, but which have what they were allocated: the files are
 * new, or were lost. Without this every one of them would be updated, and some restarted, to what they are already.
 */
// differs from upstream: there a missing record counts as "was given nothing".
export function alreadySized(
  allocated: Pod,
  seen: ObservedPod | undefined,
  actuated: Actuated,
): readonly Container[] {
  return running(allocated, seen).filter(
    ({ name, resources }) =>
      actuated(name) === undefined && matches(resources, latestContainer(seen, name)?.resources),
  );
}

function matches(wanted: ResourceRequirements | undefined, told: ObservedResources = {}): boolean {
  const { cpuLimitMilli, cpuRequestMilli, memoryLimitBytes } = resizeAmounts(wanted);
  // The kernel knows no smaller quota than that of 10m, and no fewer shares than two.
  const limit = cpuLimitMilli === 0n || cpuLimitMilli > 10n ? cpuLimitMilli : 10n;
  return (
    (told.memoryLimitBytes ?? 0n) === memoryLimitBytes &&
    (told.cpuLimitMilli ?? 0n) === limit &&
    milliCpuToShares(told.cpuRequestMilli ?? 0n) === milliCpuToShares(cpuRequestMilli || cpuLimitMilli)
  );
}

function running(allocated: Pod, seen: ObservedPod | undefined): readonly Container[] {
  return longRunningContainers(allocated).filter(
    ({ name }) => latestContainer(seen, name)?.state === 'running',
  );
}

export function completionMessage({ spec }: Pod): string {
  const lists = [
    ...listText('initContainers', spec?.initContainers ?? []),
    ...listText('containers', spec?.containers ?? []),
  ];
  return `Pod resize completed: {${lists.join(',')}}`;
}

function listText(name: string, containers: readonly Container[]): readonly string[] {
  if (containers.length === 0) return [];
  const each = containers.map(
    (container) =>
      `{"name":${goJsonString(container.name)},"resources":${encodeRequirements(container.resources ?? {})}}`,
  );
  return [`${goJsonString(name)}:[${each.join(',')}]`];
}
