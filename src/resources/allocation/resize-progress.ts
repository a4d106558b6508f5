// Whether a pod's running containers have their allocated resources, and the message of a completed resize. Pure.
// Upstream: isPodResizeInProgress and podResizeCompletionMsg in pkg/kubelet/allocation.

import { goJsonString } from '../../api/k8s/go-json.ts';
import type { Container, Pod, ResourceRequirements } from '../../api/k8s/types.ts';
import { longRunningContainers } from '../../api/pod/find-container.ts';
import { latestContainer, type ObservedPod, type ObservedResources } from '../../api/pod/observed.ts';
import { resizeAmounts, sameResizeAmounts } from '../../api/pod/resize.ts';
import { milliCpuToShares } from '../../api/quantity/cpu-shares.ts';
import { encodeRequirements } from './allocation-checkpoint.ts';

type Actuated = (container: string) => ResourceRequirements | undefined;

/** Containers that do not run get their allocated resources when they start. */
export function isInProgress(allocated: Pod, observed: ObservedPod | undefined, actuated: Actuated): boolean {
  return running(allocated, observed).some(
    ({ name, resources }) => !sameResizeAmounts(resizeAmounts(resources), resizeAmounts(actuated(name))),
  );
}

/**
 * Running containers without an actuated record that already have their allocated resources. The file is new or was lost.
 * Without this each of them would be updated, and some restarted, without any change.
 */
// differs from upstream: there a missing record counts as "no resources actuated".
export function alreadySized(
  allocated: Pod,
  observed: ObservedPod | undefined,
  actuated: Actuated,
): readonly Container[] {
  return running(allocated, observed).filter(
    ({ name, resources }) =>
      actuated(name) === undefined && matches(resources, latestContainer(observed, name)?.resources),
  );
}

function matches(allocated: ResourceRequirements | undefined, reported: ObservedResources = {}): boolean {
  const { cpuLimitMilli, cpuRequestMilli, memoryLimitBytes } = resizeAmounts(allocated);
  // The kernel's minimum is a quota of 10m and two shares.
  const limit = cpuLimitMilli === 0n || cpuLimitMilli > 10n ? cpuLimitMilli : 10n;
  return (
    (reported.memoryLimitBytes ?? 0n) === memoryLimitBytes &&
    (reported.cpuLimitMilli ?? 0n) === limit &&
    milliCpuToShares(reported.cpuRequestMilli ?? 0n) === milliCpuToShares(cpuRequestMilli || cpuLimitMilli)
  );
}

function running(allocated: Pod, observed: ObservedPod | undefined): readonly Container[] {
  return longRunningContainers(allocated).filter(
    ({ name }) => latestContainer(observed, name)?.state === 'running',
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
