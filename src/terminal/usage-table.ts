// The table of `kubelet top`. Pure. Texts are safe already.
import type { PodRow, UsageSample } from '../api/ports/node-page.ts';
import { bytesText, cpuText, parseTime } from './amounts.ts';
import type { Screen } from './style.ts';
import { formatTable } from './table.ts';

interface Measured {
  readonly name: string;
  /** Thousandths of a core; undefined if it was not measured. */
  readonly cpuMillis: number | undefined;
  readonly memoryBytes: number | undefined;
}

export interface NodeUsage {
  readonly node: Measured & { readonly cpuCapacityMillis?: number; readonly memoryCapacityBytes?: number };
  readonly pods: readonly (Measured & { readonly containers: readonly Measured[] })[];
}

interface SummaryPart {
  readonly cpu?: {
    readonly time: string;
    readonly usageNanoCores?: number;
    readonly usageCoreNanoSeconds?: number;
  };
  readonly memory?: { readonly workingSetBytes?: number; readonly availableBytes?: number };
}

/** Of GET /stats/summary. */
export interface SummaryAnswer {
  readonly node: SummaryPart & { readonly nodeName: string };
  readonly pods: readonly (SummaryPart & {
    readonly podRef: { readonly namespace: string; readonly name: string; readonly uid: string };
    readonly containers: readonly (SummaryPart & { readonly name: string; readonly startTime: string })[];
  })[];
}

/** CPU is the usage between both answers. */
export function usageBetween(before: SummaryAnswer | undefined, after: SummaryAnswer): NodeUsage {
  const podsBefore = new Map(before?.pods.map((pod) => [pod.podRef.uid, pod]));
  const { availableBytes, workingSetBytes } = after.node.memory ?? {};
  const capacity = (availableBytes ?? Number.NaN) + (workingSetBytes ?? Number.NaN);
  return {
    node: {
      ...measured(after.node.nodeName, before?.node, after.node),
      ...(!Number.isNaN(capacity) && { memoryCapacityBytes: capacity }),
    },
    pods: after.pods.map((pod) => {
      const earlier = podsBefore.get(pod.podRef.uid);
      const containers = new Map(earlier?.containers.map((each) => [`${each.name} ${each.startTime}`, each]));
      return {
        ...measured(`${pod.podRef.namespace}/${pod.podRef.name}`, earlier, pod),
        containers: pod.containers.map((each) =>
          measured(each.name, containers.get(`${each.name} ${each.startTime}`), each),
        ),
      };
    }),
  };
}

function measured(name: string, before: SummaryPart | undefined, after: SummaryPart): Measured {
  return { name, cpuMillis: cpuBetween(before, after), memoryBytes: after.memory?.workingSetBytes };
}

function cpuBetween(before: SummaryPart | undefined, after: SummaryPart): number | undefined {
  const ms = (parseTime(after.cpu?.time) ?? Number.NaN) - (parseTime(before?.cpu?.time) ?? Number.NaN);
  const used =
    (after.cpu?.usageCoreNanoSeconds ?? Number.NaN) - (before?.cpu?.usageCoreNanoSeconds ?? Number.NaN);
  // Both answers may share a collection; the kubelet knows the usage since the one before.
  if (ms > 0 && used >= 0) return (used / 1e6 / ms) * 1000;
  return after.cpu?.usageNanoCores === undefined ? undefined : after.cpu.usageNanoCores / 1e6;
}

interface StreamUsage {
  readonly nodeName: string;
  readonly rows: readonly Pick<PodRow, 'uid' | 'namespace' | 'name'>[];
  readonly sample: UsageSample;
  readonly cpuCapacityMillis: number | undefined;
  readonly memoryCapacityBytes: number | undefined;
}

/** Of the stream of the node's page, which has no containers. */
export function usageOfStream({
  cpuCapacityMillis,
  memoryCapacityBytes,
  nodeName,
  rows,
  sample,
}: StreamUsage): NodeUsage {
  const [cpu, memory] = sample.node;
  return {
    node: {
      name: nodeName,
      cpuMillis: cpu ?? undefined,
      memoryBytes: memory ?? undefined,
      ...(cpuCapacityMillis !== undefined && { cpuCapacityMillis }),
      ...(memoryCapacityBytes !== undefined && { memoryCapacityBytes }),
    },
    pods: rows.flatMap(({ name, namespace, uid }) => {
      const usage = sample.pods[uid];
      if (usage === undefined) return [];
      const [podCpu, podMemory] = usage;
      const pod = `${namespace}/${name}`;
      return [
        { name: pod, cpuMillis: podCpu ?? undefined, memoryBytes: podMemory ?? undefined, containers: [] },
      ];
    }),
  };
}

export type UsageOrder = 'cpu' | 'memory' | 'name';

interface UsageTableOptions {
  readonly order: UsageOrder;
  readonly containers: boolean;
  readonly screen: Screen;
}

export function sortUsage(usage: NodeUsage, order: UsageOrder): NodeUsage {
  const amount = ({ cpuMillis, memoryBytes }: Measured): number =>
    (order === 'cpu' ? cpuMillis : memoryBytes) ?? -1;
  const byName = (a: Measured, b: Measured): number => (a.name < b.name ? -1 : Number(a.name > b.name));
  return {
    ...usage,
    pods: usage.pods.toSorted((a, b) => (order === 'name' ? 0 : amount(b) - amount(a)) || byName(a, b)),
  };
}

export function usageTable(
  usage: NodeUsage,
  { containers, order, screen }: UsageTableOptions,
): readonly string[] {
  const { node, pods } = sortUsage(usage, order);
  const share = (used: number | undefined, capacity: number | undefined): string =>
    used === undefined || capacity === undefined || capacity <= 0
      ? ''
      : `${Math.round((used / capacity) * 100)}%`;
  const nodeRow = [
    node.name,
    cpuOf(node),
    share(node.cpuMillis, node.cpuCapacityMillis),
    memoryOf(node),
    share(node.memoryBytes, node.memoryCapacityBytes),
  ];
  const own = containers
    ? pods.flatMap((pod) => [
        [pod.name, '', cpuOf(pod), memoryOf(pod)],
        ...pod.containers.map((each) => ['', each.name, cpuOf(each), memoryOf(each)]),
      ])
    : pods.map((pod) => [pod.name, cpuOf(pod), memoryOf(pod)]);
  const header = containers ? ['POD', 'CONTAINER', 'CPU', 'MEMORY'] : ['POD', 'CPU', 'MEMORY'];
  return [
    ...formatTable(['NODE', 'CPU', 'CPU%', 'MEMORY', 'MEMORY%'], [nodeRow], screen),
    '',
    ...(own.length === 0 ? ['no running pods'] : formatTable(header, own, screen)),
  ];
}

function cpuOf({ cpuMillis }: Measured): string {
  return cpuMillis === undefined ? '?' : cpuText(cpuMillis);
}

function memoryOf({ memoryBytes }: Measured): string {
  return memoryBytes === undefined ? '?' : bytesText(memoryBytes);
}
