// The order in which pods are evicted, the first one first. Pure.
// Invariant: a total order that does not depend on the order of the input. QoS classes are no key of it.
// Upstream: rankMemoryPressure, rankDiskPressureFunc and rankPIDPressure in pkg/kubelet/eviction/helpers.go.
import type { Pod } from '../../api/k8s/types.ts';
import { isCriticalPod } from '../../api/pod/critical-pods.ts';
import { type PodUid, podUid } from '../../api/pod/pod-ref.ts';
import { podRequests } from '../../api/pod/resources.ts';
import type { PodLoad } from '../../api/ports/node-usage.ts';
import { amountOf, parseAmounts } from '../../api/quantity/resource-amounts.ts';
import type { DiskLayout } from './layout.ts';
import { resourceOf, type Signal, type StarvedResource } from './thresholds.ts';
import { amountOrNone } from './tolerant.ts';

export interface RankedPod {
  readonly pod: Pod;
  readonly uid: PodUid;
  readonly load: PodLoad | undefined;
  /** Bytes, inodes or processes; undefined without statistics. */
  readonly usage: number | undefined;
  /** In bytes; 0 for inodes and processes, which cannot be requested. */
  readonly request: number;
  readonly exceedsRequest: boolean;
  readonly priority: number;
  /** False for a critical pod, which keeps its place but is never evicted. */
  readonly evictable: boolean;
  /** The place in the order in one sentence. */
  readonly why: string;
}

interface RankOptions {
  /** Ignore spec.resources, as without the gate PodLevelResources. */
  readonly skipPodLevelResources?: boolean;
}

export function rankPods(
  signal: Signal,
  layout: DiskLayout,
  pods: readonly Pod[],
  loads: ReadonlyMap<PodUid, PodLoad>,
  options: RankOptions = {},
): readonly RankedPod[] {
  const resource = resourceOf(signal);
  const parts = countedParts(signal, layout);
  const ranked = pods.map((pod): RankedPod => {
    const uid = podUid(pod);
    const load = loads.get(uid);
    const usage = load && usageOf(resource, load, parts);
    const request = requestOf(resource, pod, options);
    const facts = {
      usage,
      request,
      exceedsRequest: resource !== 'pids' && usage !== undefined && usage > request,
      priority: pod.spec?.priority ?? 0,
      evictable: !isCriticalPod(pod),
    };
    return { pod, uid, load, ...facts, why: explain(resource, facts) };
  });
  const group = resource === 'pids' ? () => 0 : groupOf;
  return ranked.toSorted(
    (a, b) =>
      group(a) - group(b) ||
      a.priority - b.priority ||
      Number(a.load !== undefined) - Number(b.load !== undefined) ||
      excessOf(b) - excessOf(a) ||
      (a.uid < b.uid ? -1 : Number(a.uid > b.uid)),
  );
}

/** Pods without statistics first, then those above their request. */
function groupOf({ load, exceedsRequest }: RankedPod): number {
  if (load === undefined) return 0;
  return exceedsRequest ? 1 : 2;
}

function excessOf({ usage, request }: RankedPod): number {
  return usage === undefined ? 0 : usage - request;
}

type DiskPart = 'layers' | 'logs' | 'volumes';
const allParts: readonly DiskPart[] = ['layers', 'logs', 'volumes'];

/** What a pod has on the file system of the signal. Images are never attributed to pods. */
function countedParts(signal: Signal, layout: DiskLayout): readonly DiskPart[] {
  if (layout === 'one') return allParts;
  if (layout === 'split') return signal.startsWith('imagefs.') ? [] : allParts;
  return signal.startsWith('nodefs.') ? ['logs', 'volumes'] : ['layers'];
}

function usageOf(resource: StarvedResource, load: PodLoad, parts: readonly DiskPart[]): number {
  if (resource === 'memory') return load.workingSetBytes ?? 0;
  // differs from upstream: threads and nested cgroups count, which upstream's list of processes misses.
  if (resource === 'pids') return load.processes ?? 0;
  const bytes = resource === 'ephemeral-storage';
  let sum = 0;
  for (const container of load.containers) {
    const { logBytes, logInodes, writtenBytes = 0, writtenInodes = 0 } = container;
    if (parts.includes('layers')) sum += bytes ? writtenBytes : writtenInodes;
    if (parts.includes('logs')) sum += bytes ? logBytes : logInodes;
  }
  if (!parts.includes('volumes')) return sum;
  const local = load.volumes.filter(({ isLocalEphemeral }) => isLocalEphemeral);
  return local.reduce((total, volume) => total + (bytes ? volume.usedBytes : volume.inodesUsed), sum);
}

/**
 * differs from upstream: inodes have no request, where upstream subtracts the requested bytes of storage from them; and pod-level
 * resources do not hide the containers' storage requests, since a pod cannot request storage as a whole.
 */
function requestOf(resource: StarvedResource, pod: Pod, options: RankOptions): number {
  if (resource === 'inodes' || resource === 'pids') return 0;
  const read = (): number => {
    const request = amountOf(podRequests(pod, { ...options, excludeOverhead: true }), resource);
    if (request.isZero()) return 0;
    return request.add(amountOf(parseAmounts(pod.spec?.overhead), resource)).toNumber();
  };
  return amountOrNone(read) ?? 0;
}

const nouns: Readonly<Record<StarvedResource, string>> = {
  memory: 'of memory',
  'ephemeral-storage': 'of local storage',
  inodes: 'inodes',
  pids: 'processes',
};

type Facts = Pick<RankedPod, 'usage' | 'request' | 'exceedsRequest' | 'priority' | 'evictable'>;

function explain(resource: StarvedResource, facts: Facts): string {
  const { evictable, exceedsRequest, priority, request, usage } = facts;
  const hasBytes = resource === 'memory' || resource === 'ephemeral-storage';
  const amount = (value: number): string => (hasBytes ? readableBytes(value) : String(value));
  let use = 'has no statistics';
  if (usage !== undefined) {
    use = `uses ${amount(usage)} ${nouns[resource]}`;
    if (hasBytes && request === 0) use += ' and requests none';
    else if (exceedsRequest && hasBytes)
      use += `, ${amount(usage - request)} above its request of ${amount(request)}`;
    else if (hasBytes) use += `, within its request of ${amount(request)}`;
  }
  return `The pod ${use}, has priority ${priority}${evictable ? '' : ' and is critical, so it is never evicted'}.`;
}

const units = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'] as const;

/** Rounded to one decimal, for people. */
function readableBytes(bytes: number): string {
  let step = 0;
  let value = bytes;
  while (value >= 1024 && step < units.length - 1) {
    value /= 1024;
    step += 1;
  }
  return `${Math.round(value * 10) / 10}${units[step]}`;
}
