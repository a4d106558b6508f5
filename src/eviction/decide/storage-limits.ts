// Pods that exceed a limit of local storage. They are evicted without pressure on the node. Pure.
// Invariant: a figure that was not measured exceeds nothing; a critical pod is never evicted.
// Upstream: localStorageEviction in pkg/kubelet/eviction/eviction_manager.go.
import type { Pod } from '../../api/k8s/types.ts';
import { isCriticalPod } from '../../api/pod/critical-pods.ts';
import { initAndRegularContainers } from '../../api/pod/find-container.ts';
import { podLimits } from '../../api/pod/resources.ts';
import type { PodLoad } from '../../api/ports/node-usage.ts';
import { Quantity } from '../../api/quantity/quantity.ts';
import { parseAmounts } from '../../api/quantity/resource-amounts.ts';
import type { DiskLayout } from './layout.ts';
import { amountOrNone } from './tolerant.ts';

interface StorageLimitOptions {
  readonly layout: DiskLayout;
}

export interface ExceededLimit {
  /** The label of the eviction metric. */
  readonly signal: 'emptydirfs.limit' | 'ephemeralpodfs.limit' | 'ephemeralcontainerfs.limit';
  readonly message: string;
  /** The volume or container; the pod as a whole has no name here. */
  readonly name?: string;
  readonly usedBytes: number;
  readonly limit: Quantity;
}

const storage = 'ephemeral-storage';

/** The first exceeded limit: of a volume, of the pod, of a container. */
export function exceededStorageLimit(
  pod: Pod,
  load: PodLoad,
  options: StorageLimitOptions,
): ExceededLimit | undefined {
  if (isCriticalPod(pod)) return undefined;
  return exceededVolume(pod, load) ?? exceededPod(pod, load) ?? exceededContainer(pod, load, options);
}

/** Whether the pod has a limit to check. Only these pods need to be measured. */
export function hasStorageLimit(pod: Pod): boolean {
  if (isCriticalPod(pod)) return false;
  return limitedVolumes(pod).length > 0 || containerLimits(pod).size > 0;
}

interface LimitedVolume {
  readonly name: string;
  readonly limit: Quantity;
}

function limitedVolumes(pod: Pod): readonly LimitedVolume[] {
  return (pod.spec?.volumes ?? []).flatMap(({ name, emptyDir }) => {
    if (emptyDir?.sizeLimit === undefined) return [];
    const { sizeLimit } = emptyDir;
    const limit = amountOrNone(() => Quantity.fromJson(sizeLimit));
    return limit?.sign() === 1 ? [{ name, limit }] : [];
  });
}

function exceededVolume(pod: Pod, load: PodLoad): ExceededLimit | undefined {
  for (const { limit, name } of limitedVolumes(pod)) {
    const usedBytes = load.volumes.find((volume) => volume.name === name)?.usedBytes;
    if (usedBytes === undefined || !exceeds(usedBytes, limit)) continue;
    const message = `Usage of EmptyDir volume "${name}" exceeds the limit "${limit}". `;
    return { signal: 'emptydirfs.limit', message, name, usedBytes, limit };
  }
  return undefined;
}

/** By container: its limit, if it sets one. */
function containerLimits(pod: Pod): ReadonlyMap<string, Quantity> {
  const limits = initAndRegularContainers(pod).map(
    ({ name, resources }) =>
      [name, amountOrNone(() => parseAmounts(resources?.limits).get(storage))] as const,
  );
  return new Map(limits.flatMap(([name, limit]) => (limit === undefined ? [] : [[name, limit]])));
}

/** A limit of one container limits the whole pod, as upstream: its other containers and volumes count too. */
function exceededPod(pod: Pod, load: PodLoad): ExceededLimit | undefined {
  const limit = amountOrNone(() => podLimits(pod).get(storage));
  const usedBytes = load.ephemeralBytes;
  if (limit === undefined || usedBytes === undefined || !exceeds(usedBytes, limit)) return undefined;
  const message = `Pod ephemeral local storage usage exceeds the total limit of containers ${limit}. `;
  return { signal: 'ephemeralpodfs.limit', message, usedBytes, limit };
}

/**
 * differs from upstream: the writable layer counts wherever it lies on nodefs, also if images have their own file system; and init
 * containers that are not sidecars are checked too while they run.
 */
function exceededContainer(
  pod: Pod,
  load: PodLoad,
  { layout }: StorageLimitOptions,
): ExceededLimit | undefined {
  const limits = containerLimits(pod);
  for (const { logBytes, name, writtenBytes = 0 } of load.containers) {
    const limit = limits.get(name) ?? Quantity.zero;
    const usedBytes = layout === 'imagefs' ? logBytes : logBytes + writtenBytes;
    if (limit.isZero() || !exceeds(usedBytes, limit)) continue;
    const message = `Container ${name} exceeded its local ephemeral storage limit "${limit}". `;
    return { signal: 'ephemeralcontainerfs.limit', message, name, usedBytes, limit };
  }
  return undefined;
}

function exceeds(usedBytes: number, limit: Quantity): boolean {
  return Quantity.of(BigInt(Math.trunc(usedBytes))).cmp(limit) > 0;
}
