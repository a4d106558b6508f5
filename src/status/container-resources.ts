// Computes the resources in a container's status: those applied to it, as far as the runtime reports them. Pure.
// Upstream: convertContainerStatusResources in pkg/kubelet/kubelet_pods.go.
import type { ContainerStatus, ResourceList, ResourceRequirements } from '../api/k8s/types.ts';
import type { ObservedContainer, ObservedResources } from '../api/pod/observed.ts';
import { Quantity } from '../api/quantity/quantity.ts';
import { present } from './api-fields.ts';

/** The kernel's minimum. A smaller allocated value is reported as allocated. */
const minLimitMilli = 10n;
const minRequestMilli = 2n;

/**
 * `old`: the status of the same container if it was already running; its values are kept where the runtime reports none.
 * `actuated`: the resources last applied to the container.
 */
export function enactedResources(
  allocated: ResourceRequirements | undefined,
  observed: ObservedContainer,
  old: ContainerStatus | undefined,
  actuated?: ResourceRequirements,
): ResourceRequirements {
  const running = observed.state === 'running';
  const before = running ? old?.resources : undefined;
  const reported = running ? (observed.resources ?? actuatedResources(actuated)) : {};
  return present<ResourceRequirements>({
    limits: enactedLimits(allocated?.limits, reported, before?.limits),
    requests: enactedRequests(
      allocated?.requests,
      reported,
      before?.requests,
      running ? actuated : undefined,
    ),
    claims: allocated?.claims !== undefined && allocated.claims.length > 0 ? allocated.claims : undefined,
  });
}

function enactedLimits(
  allocated: ResourceList | undefined,
  reported: ObservedResources,
  before: ResourceList | undefined,
): ResourceList | undefined {
  if (nonEmptyMap(allocated) === undefined) return undefined;
  const cpu = enactedCpu(allocated?.cpu, reported.cpuLimitMilli, minLimitMilli);
  const memory =
    reported.memoryLimitBytes === undefined
      ? undefined
      : Quantity.of(reported.memoryLimitBytes, 'BinarySI').toString();
  return present<ResourceList>({
    ...allocated,
    ...given('cpu', reported.cpuLimitMilli === undefined ? before?.cpu : cpu),
    ...given('memory', reported.memoryLimitBytes === undefined ? before?.memory : memory),
  });
}

function enactedRequests(
  allocated: ResourceList | undefined,
  reported: ObservedResources,
  before: ResourceList | undefined,
  actuated: ResourceRequirements | undefined,
): ResourceList | undefined {
  if (nonEmptyMap(allocated) === undefined) return undefined;
  const cpu = enactedCpu(allocated?.cpu, reported.cpuRequestMilli, minRequestMilli);
  return present<ResourceList>({
    ...allocated,
    ...given('cpu', reported.cpuRequestMilli === undefined ? before?.cpu : cpu),
    // The kernel has no memory request, so the request last applied is reported.
    ...given('memory', nonZero(actuated?.requests?.memory) ?? before?.memory),
  });
}

/** For a runtime that does not report resources. */
function actuatedResources(actuated: ResourceRequirements | undefined): ObservedResources {
  const { limits, requests } = actuated ?? {};
  const milli = (text: string | undefined): bigint | undefined =>
    nonZero(text) === undefined ? undefined : Quantity.fromJson(text ?? '0').milliValue();
  const memory = nonZero(limits?.memory);
  return present<ObservedResources>({
    cpuLimitMilli: milli(limits?.cpu),
    cpuRequestMilli: milli(requests?.cpu),
    memoryLimitBytes: memory === undefined ? undefined : Quantity.fromJson(memory).value(),
  });
}

function nonZero(text: string | undefined): string | undefined {
  return text === undefined || Quantity.fromJson(text).isZero() ? undefined : text;
}

function enactedCpu(
  allocated: string | undefined,
  reportedMilli: bigint | undefined,
  minMilli: bigint,
): string | undefined {
  if (reportedMilli === undefined) return undefined;
  const allocatedMilli = allocated === undefined ? 0n : Quantity.fromJson(allocated).milliValue();
  return reportedMilli > minMilli || allocatedMilli > minMilli
    ? Quantity.ofMilli(reportedMilli).toString()
    : undefined;
}

function given(name: string, value: string | undefined): ResourceList {
  return value === undefined ? {} : { [name]: value };
}

export function nonEmptyMap<T>(map: Record<string, T> | undefined): Record<string, T> | undefined {
  return map === undefined || Object.keys(map).length === 0 ? undefined : map;
}
