// The resources a container's status shows: what it was given, as far as the runtime can tell. Pure.
// Upstream: convertContainerStatusResources in pkg/kubelet/kubelet_pods.go.
import type { ContainerStatus, ResourceList, ResourceRequirements } from '../api/k8s/types.ts';
import type { ObservedContainer, ObservedResources } from '../api/pod/observed.ts';
import { Quantity } from '../api/quantity/quantity.ts';
import { present } from './api-fields.ts';

/** The kernel knows no smaller ones: what is wanted below stays as it was wanted. */
const leastLimitMilli = 10n;
const leastRequestMilli = 2n;

/**
 * `wanted`: what was allocated. `old`: the status of the same container while it already ran; its values stand where the
 * runtime says nothing. `actuated`: what it was last given.
 */
export function enactedResources(
  wanted: ResourceRequirements | undefined,
  seen: ObservedContainer,
  old: ContainerStatus | undefined,
  actuated?: ResourceRequirements,
): ResourceRequirements {
  const running = seen.state === 'running';
  const before = running ? old?.resources : undefined;
  const told = running ? (seen.resources ?? {}) : {};
  return present<ResourceRequirements>({
    limits: enactedLimits(wanted?.limits, told, before?.limits),
    requests: enactedRequests(wanted?.requests, told, before?.requests, running ? actuated : undefined),
    claims: wanted?.claims !== undefined && wanted.claims.length > 0 ? wanted.claims : undefined,
  });
}

function enactedLimits(
  wanted: ResourceList | undefined,
  told: ObservedResources,
  before: ResourceList | undefined,
): ResourceList | undefined {
  if (nonEmptyMap(wanted) === undefined) return undefined;
  const cpu = enactedCpu(wanted?.cpu, told.cpuLimitMilli, leastLimitMilli);
  const memory =
    told.memoryLimitBytes === undefined
      ? undefined
      : Quantity.of(told.memoryLimitBytes, 'BinarySI').toString();
  return present<ResourceList>({
    ...wanted,
    ...given('cpu', told.cpuLimitMilli === undefined ? before?.cpu : cpu),
    ...given('memory', told.memoryLimitBytes === undefined ? before?.memory : memory),
  });
}

function enactedRequests(
  wanted: ResourceList | undefined,
  told: ObservedResources,
  before: ResourceList | undefined,
  actuated: ResourceRequirements | undefined,
): ResourceList | undefined {
  if (nonEmptyMap(wanted) === undefined) return undefined;
  const cpu = enactedCpu(wanted?.cpu, told.cpuRequestMilli, leastRequestMilli);
  return present<ResourceList>({
    ...wanted,
    ...given('cpu', told.cpuRequestMilli === undefined ? before?.cpu : cpu),
    // The kernel knows nothing of it: what the container was given is what it requests.
    ...(actuated === undefined || wanted?.memory === undefined
      ? {}
      : given('memory', actuated.requests?.memory ?? '0')),
  });
}

function enactedCpu(
  wanted: string | undefined,
  toldMilli: bigint | undefined,
  leastMilli: bigint,
): string | undefined {
  if (toldMilli === undefined) return undefined;
  const wantedMilli = wanted === undefined ? 0n : Quantity.fromJson(wanted).milliValue();
  return toldMilli > leastMilli || wantedMilli > leastMilli
    ? Quantity.ofMilli(toldMilli).toString()
    : undefined;
}

function given(name: string, value: string | undefined): ResourceList {
  return value === undefined ? {} : { [name]: value };
}

export function nonEmptyMap<T>(map: Record<string, T> | undefined): Record<string, T> | undefined {
  return map === undefined || Object.keys(map).length === 0 ? undefined : map;
}
