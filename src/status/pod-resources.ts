// Computes the pod-level resources in a pod's status: the requests allocated to it, and the requests and limits of its cgroup.
// Pure. Upstream: convertToAPIPodLevelResourcesStatus in pkg/kubelet/kubelet_pods.go.
import type { Pod, PodStatus, ResourceList, ResourceRequirements } from '../api/k8s/types.ts';
import { type PodResourcesOptions, podLimits, podRequests } from '../api/pod/resources.ts';
import type { CgroupSettings } from '../api/ports/cgroups.ts';
import {
  milliCpuToShares,
  quotaToMilliCpu,
  sharesToMilliCpu,
  sharesToWeight,
  weightToShares,
} from '../api/quantity/cpu-shares.ts';
import { Quantity } from '../api/quantity/quantity.ts';
import { amountOf, formatAmounts } from '../api/quantity/resource-amounts.ts';
import { present } from './api-fields.ts';
import { nonEmptyMap } from './container-resources.ts';
import type { StatusGates } from './status-gates.ts';

/** The settings of a pod's cgroup as last read from the kernel. */
export type CgroupReading = Pick<
  CgroupSettings,
  'cpuShares' | 'cpuQuotaUs' | 'cpuPeriodUs' | 'memoryLimitBytes'
>;

/** The kernel's minimum. A smaller allocated value is reported as allocated. */
const minLimitMilli = 10n;
const minRequestMilli = 2n;
/** Cgroup v1 reports no limit as the largest multiple of the page size. */
const unlimitedFrom = 2n ** 62n;

/** `pod` has its allocated resources; `old` is its previous status. */
export function podResourceFields(
  pod: Pod,
  old: PodStatus,
  reading: CgroupReading | undefined,
  gates: StatusGates,
): Pick<PodStatus, 'allocatedResources' | 'resources'> {
  if (!gates.InPlacePodLevelResourcesVerticalScaling) return {};
  const options = { skipPodLevelResources: !gates.PodLevelResources };
  const allocated = formatAmounts(podRequests(pod, options));
  const resources =
    old.phase === 'Running' ? runningResources(pod, old, reading, options) : allocatedResources(pod, options);
  return present<Pick<PodStatus, 'allocatedResources' | 'resources'>>({
    allocatedResources: nonEmptyMap(allocated),
    resources,
  });
}

function allocatedResources(pod: Pod, options: PodResourcesOptions): ResourceRequirements {
  return requirements(formatAmounts(podRequests(pod, options)), formatAmounts(podLimits(pod, options)));
}

/** What the kernel does not report, or was not read yet, stays as it was. */
function runningResources(
  pod: Pod,
  old: PodStatus,
  reading: CgroupReading = {},
  options: PodResourcesOptions,
): ResourceRequirements {
  const own = pod.spec?.resources;
  const { limits, requests } = old.resources ?? {};
  const total = podRequests(pod, options);
  const memory =
    own?.requests?.memory ?? (total.has('memory') ? amountOf(total, 'memory').toString() : undefined);
  return requirements(
    present<ResourceList>({
      ...own?.requests,
      ...given(
        'cpu',
        requestOf(amountOf(total, 'cpu').milliValue(), own?.requests, reading) ?? requests?.cpu,
      ),
      ...given('memory', memory),
    }),
    present<ResourceList>({
      ...own?.limits,
      ...given('cpu', cpuLimitOf(own?.limits, reading) ?? limits?.cpu),
      ...given('memory', memoryLimitOf(reading) ?? limits?.memory),
    }),
  );
}

/** Undefined if the kernel's value is unknown. */
function requestOf(
  totalMilli: bigint,
  own: ResourceList | undefined,
  { cpuShares }: CgroupReading,
): string | undefined {
  if (cpuShares === undefined) return undefined;
  const milli = sharesToMilliCpu(cpuShares);
  if (milli <= minRequestMilli && milliOf(own) <= minRequestMilli) return own?.cpu;
  // The weight of cgroup v2 is coarser than shares. What reads back as written is reported as allocated.
  // differs from upstream: also where the request is that of the containers, not of the pod.
  const shares = milliCpuToShares(totalMilli);
  const isAllocated = cpuShares === shares || cpuShares === weightToShares(sharesToWeight(shares));
  return Quantity.ofMilli(isAllocated ? totalMilli : milli).toString();
}

function cpuLimitOf(
  own: ResourceList | undefined,
  { cpuPeriodUs = 0n, cpuQuotaUs = -1n }: CgroupReading,
): string | undefined {
  const milli = quotaToMilliCpu(cpuQuotaUs, cpuPeriodUs);
  if (milli === 0n) return undefined;
  if (milli <= minLimitMilli && milliOf(own) <= minLimitMilli) return own?.cpu;
  return Quantity.ofMilli(milli).toString();
}

/** differs from upstream: on cgroup v1 no limit is not reported as a limit of 8 EiB. */
function memoryLimitOf({ memoryLimitBytes = -1n }: CgroupReading): string | undefined {
  const isLimited = memoryLimitBytes > 0n && memoryLimitBytes <= unlimitedFrom;
  return isLimited ? Quantity.of(memoryLimitBytes, 'BinarySI').toString() : undefined;
}

function milliOf(list: ResourceList | undefined): bigint {
  return list?.cpu === undefined ? 0n : Quantity.fromJson(list.cpu).milliValue();
}

function requirements(requests: ResourceList, limits: ResourceList): ResourceRequirements {
  return present<ResourceRequirements>({ limits: nonEmptyMap(limits), requests: nonEmptyMap(requests) });
}

function given(name: string, value: string | undefined): ResourceList {
  return value === undefined ? {} : { [name]: value };
}
