// A container's memory settings beside its limit: swap and, with the gate MemoryQoS, protection and throttling.
// Pure. Upstream: configureContainerSwapResources and generateLinuxContainerResources in kuberuntime_container_linux.go.

import type { LinuxContainerResources } from '../../api/cri/generated/runtime/v1/api.ts';
import type { CriRequest } from '../../api/cri/runtime.ts';
import type { Container, Pod } from '../../api/k8s/types.ts';
import { isCriticalPod } from '../../api/pod/critical-pods.ts';
import { podQosClass } from '../../api/pod/qos.ts';
import { memoryHighBytes } from '../../api/quantity/memory-high.ts';
import { Quantity } from '../../api/quantity/quantity.ts';

interface SwapSettings {
  readonly behavior: 'NoSwap' | 'LimitedSwap';
  /** Whether the kernel can limit swap per cgroup. */
  readonly controller: boolean;
  readonly capacityBytes: bigint;
}

interface MemoryQosSettings {
  /** The share of the range between request and limit from which on the container is throttled; undefined: never. */
  readonly throttlingFactor: number | undefined;
  /** TieredReservation: requested memory is protected from reclaim. */
  readonly reservesMemory: boolean;
  readonly pageBytes: bigint;
}

export interface MemorySettings {
  readonly cgroupVersion: 1 | 2;
  readonly memoryCapacityBytes: bigint;
  readonly swap: SwapSettings;
  /** Undefined: the gate is off. */
  readonly memoryQos?: MemoryQosSettings | undefined;
  readonly allocatableBytes: () => bigint;
}

type Limits = Pick<CriRequest<LinuxContainerResources>, 'memorySwapLimitInBytes' | 'unified'>;

export function swapLimits(
  pod: Pod,
  container: Container,
  memoryLimitBytes: bigint,
  settings: MemorySettings,
): Limits {
  const { cgroupVersion, swap } = settings;
  if (!swap.controller) return {};
  // The limit covers memory and swap together: the memory limit itself means no swap. Without a memory limit none is set.
  if (cgroupVersion === 1) return memoryLimitBytes > 0n ? { memorySwapLimitInBytes: memoryLimitBytes } : {};
  const share = mayUseSwap(pod, container, settings) ? swapShare(container, settings) : 0n;
  return { unified: { 'memory.swap.max': String(share) } };
}

/** Containers of Burstable pods whose memory request differs from their limit. */
export function mayUseSwap(pod: Pod, container: Container, { swap }: Pick<MemorySettings, 'swap'>): boolean {
  if (swap.behavior !== 'LimitedSwap' || isCriticalPod(pod) || podQosClass(pod) !== 'Burstable') return false;
  const [request, limit] = [memory(container, 'requests'), memory(container, 'limits')];
  return request !== limit && !(request === 0n && limit === 0n);
}

/** In proportion to the memory request; rounded like upstream's arithmetic in doubles. */
function swapShare(container: Container, { memoryCapacityBytes, swap }: MemorySettings): bigint {
  const request = memory(container, 'requests');
  if (memoryCapacityBytes <= 0n || request > memoryCapacityBytes) return 0n;
  return BigInt(Math.trunc((Number(request) / Number(memoryCapacityBytes)) * Number(swap.capacityBytes)));
}

export function memoryQosLimits(pod: Pod, container: Container, settings: MemorySettings): Limits {
  const { allocatableBytes, cgroupVersion, memoryQos } = settings;
  if (cgroupVersion === 1) return {};
  // A container that is resized after the gate was switched off loses its throttling.
  if (memoryQos === undefined) return { unified: { 'memory.high': 'max' } };
  const [request, limit] = [memory(container, 'requests'), memory(container, 'limits')];
  const unified = protection(pod, request, memoryQos);
  const { pageBytes, throttlingFactor: factor } = memoryQos;
  // The memory.high of the pod's cgroup covers containers that only the pod limits.
  if (factor === undefined || (limit === 0n && isLimitedByPod(pod))) return { unified };
  const mostBytes = limit === 0n ? allocatableBytes() : limit;
  const high = memoryHighBytes({ requestBytes: request, mostBytes, factor, pageBytes });
  return { unified: { ...unified, ...(high === undefined ? {} : { 'memory.high': String(high) }) } };
}

function isLimitedByPod(pod: Pod): boolean {
  return !Quantity.parse(pod.spec?.resources?.limits?.['memory'] ?? '0').isZero();
}

/** Zeros without a reservation, so that a resized container loses the values of an earlier configuration. */
function protection(
  pod: Pod,
  request: bigint,
  { reservesMemory }: MemoryQosSettings,
): Record<string, string> {
  if (!reservesMemory || request === 0n) return { 'memory.min': '0', 'memory.low': '0' };
  return { [podQosClass(pod) === 'Guaranteed' ? 'memory.min' : 'memory.low']: String(request) };
}

function memory(container: Container, kind: 'requests' | 'limits'): bigint {
  return Quantity.parse(container.resources?.[kind]?.['memory'] ?? '0').value();
}
