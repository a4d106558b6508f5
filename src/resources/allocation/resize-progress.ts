// Whether a pod's cgroup and running containers have their allocated resources. Pure.
// Upstream: IsPodResizeInProgress in kuberuntime_manager.go.

import type { Container, Pod, ResourceRequirements } from '../../api/k8s/types.ts';
import { initAndRegularContainers } from '../../api/pod/find-container.ts';
import { latestContainer, type ObservedPod, type ObservedResources } from '../../api/pod/observed.ts';
import { resizeAmounts, sameResizeAmounts, withPodLimits } from '../../api/pod/resize.ts';
import { milliCpuToShares } from '../../api/quantity/cpu-shares.ts';

/** What was last applied. */
interface Actuated {
  /** Undefined if unknown. */
  container(name: string): ResourceRequirements | undefined;
  /** Null for none, undefined if unknown. Absent if pod-level resources are not resized in place. */
  readonly podLevel?: { readonly actuated: ResourceRequirements | null | undefined } | undefined;
}

/** Containers that do not run get their allocated resources when they start. */
// differs from upstream: running plain init containers count too, so that a resize is not reported as completed before they
// have their resources.
export function isInProgress(allocated: Pod, observed: ObservedPod | undefined, actuated: Actuated): boolean {
  if (podLevelDiffers(allocated, actuated)) return true;
  return running(allocated, observed).some(({ name, resources }) => {
    const given = actuated.container(name);
    return !sameResizeAmounts(
      resizeAmounts(effective(allocated, resources, actuated)),
      resizeAmounts(effective(allocated, given, actuated, actuated.podLevel?.actuated)),
    );
  });
}

function podLevelDiffers({ spec }: Pod, { podLevel }: Actuated): boolean {
  if (spec?.resources === undefined || podLevel?.actuated === undefined) return false;
  return !sameResizeAmounts(resizeAmounts(spec.resources), resizeAmounts(podLevel.actuated ?? undefined));
}

/** With the limits that the container has from its pod; `own`: the pod-level resources that apply, if not those allocated. */
function effective(
  { spec }: Pod,
  resources: ResourceRequirements | undefined,
  { podLevel }: Actuated,
  own: ResourceRequirements | null | undefined = spec?.resources,
): ResourceRequirements | undefined {
  return podLevel === undefined ? resources : withPodLimits(resources, own);
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
  return running(allocated, observed)
    .filter(({ name }) => actuated.container(name) === undefined)
    .map((container) => ({
      ...container,
      resources: effective(allocated, container.resources, actuated) ?? {},
    }))
    .filter(({ name, resources }) => matches(resources, latestContainer(observed, name)?.resources));
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
  return initAndRegularContainers(allocated).filter(
    ({ name }) => latestContainer(observed, name)?.state === 'running',
  );
}
