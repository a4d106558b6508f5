// Collects all figures of the reported cgroups: the machine, system cgroups, QoS classes, pods, sandboxes and containers.
// Stateless. Invariant: a cgroup that disappears during the collection is omitted entirely, never reported with zeros.
// Upstream: cadvisor's manager with the kubelet's cgroup roots.
import type { CgroupReader, CgroupUsage } from '../../api/ports/cgroup-usage.ts';
import type { DeviceFileSystem, InterfaceUsage, ProcessDetails } from '../../api/ports/host-usage.ts';
import { Slices, type SlicesDeps } from '../../base/slices.ts';
import type { CgroupPlaces } from '../collect/cgroup-places.ts';
import type { CollectedNetwork } from '../collect/collect-network.ts';
import type { CollectedUsage, PodUsageParts } from '../collect/collect-usage.ts';
import type { CadvisorEntry } from './cadvisor-entry.ts';

export interface CollectCadvisorDeps extends SlicesDeps {
  readonly cgroups: CgroupReader | undefined;
  readonly places: CgroupPlaces | undefined;
  readonly host: {
    processDetails(pid: number): ProcessDetails;
    softOpenFiles(pid: number): number | undefined;
    deviceFileSystems(): Promise<readonly DeviceFileSystem[]>;
  };
  /** The image of sandboxes. */
  readonly sandboxImage: () => Promise<string>;
  readonly bootedAtMs: number;
}

interface Target {
  readonly path: string;
  readonly usage?: CgroupUsage | undefined;
  /** From the runtime: the kernel dates a cgroup on access, and again after its inode was evicted. */
  readonly createdAtMs?: number;
  readonly startedAtMs?: number;
  readonly container?: string;
  readonly image?: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly pod?: string;
  readonly interfaces?: readonly InterfaceUsage[];
  readonly fileSystems?: readonly DeviceFileSystem[];
}

export async function collectCadvisor(
  deps: CollectCadvisorDeps,
  usage: CollectedUsage,
  network: CollectedNetwork,
): Promise<readonly CadvisorEntry[]> {
  const { cgroups, host } = deps;
  if (cgroups === undefined) return [];
  const sandboxImage = await deps.sandboxImage();
  const fileSystems = await host.deviceFileSystems();
  const root = { path: '/', usage: usage.node, interfaces: network.node, fileSystems };
  const targets: readonly Target[] = [
    root,
    ...ownPaths(deps, usage).map((path) => ({ path })),
    ...usage.pods.flatMap((parts) => podTargets(parts, sandboxImage, network)),
  ];
  const slices = new Slices(deps);
  const entries: CadvisorEntry[] = [];
  for (const each of targets) {
    await slices.yieldIfDue();
    const entry = await readEntry(deps, cgroups, each, slices);
    if (entry !== undefined) entries.push(entry);
  }
  return entries;
}

/** Cgroups of neither a pod nor the machine, without duplicates. */
function ownPaths({ places }: CollectCadvisorDeps, usage: CollectedUsage): readonly string[] {
  const paths = [...(places?.classes ?? []), ...usage.system.map((each) => each.usage.path)];
  return [...new Set(paths)].filter((path) => path !== '/');
}

function podTargets(
  parts: PodUsageParts,
  sandboxImage: string,
  network: CollectedNetwork,
): readonly Target[] {
  const { containers, path, pod, sandbox, sandboxPath, usage } = parts;
  const ref = { namespace: pod.namespace, pod: pod.name };
  const found: Target[] = [];
  if (path !== undefined) found.push({ path, usage, createdAtMs: sandbox.createdAtMs, ...ref });
  if (sandboxPath !== undefined)
    found.push({
      path: sandboxPath,
      createdAtMs: sandbox.createdAtMs,
      name: sandbox.id,
      image: sandboxImage,
      interfaces: network.pods.get(pod.uid) ?? [],
      ...ref,
    });
  for (const { container, path: own, usage: each } of containers) {
    if (own === undefined) continue;
    const { createdAtMs, id, image, name, startedAtMs } = container;
    found.push({
      path: own,
      usage: each,
      createdAtMs,
      startedAtMs,
      container: name,
      image,
      name: id,
      ...ref,
    });
  }
  return found;
}

async function readEntry(
  deps: CollectCadvisorDeps,
  cgroups: CgroupReader,
  target: Target,
  slices: Slices,
): Promise<CadvisorEntry | undefined> {
  const { createdAtMs: reported, ...fields } = target;
  const { path } = fields;
  const usage = fields.usage ?? cgroups.usage(path);
  const details = cgroups.details(path);
  if (usage === undefined || details === undefined) return undefined;
  const pids = cgroups.processes(path);
  const [first] = pids;
  const createdAtMs = reported ?? Math.max(details.createdAtMs, deps.bootedAtMs);
  return {
    container: '',
    image: '',
    name: '',
    namespace: '',
    pod: '',
    interfaces: [],
    fileSystems: [],
    ...fields,
    usage,
    details: { ...details, createdAtMs },
    startedAtMs: fields.startedAtMs ?? createdAtMs,
    processes: await countOpenFiles(deps, pids, slices),
    softOpenFiles: first === undefined ? undefined : deps.host.softOpenFiles(first),
  };
}

async function countOpenFiles(
  { host }: CollectCadvisorDeps,
  pids: readonly number[],
  slices: Slices,
): Promise<ProcessDetails> {
  const sum = { descriptors: 0, sockets: 0 };
  for (const pid of pids) {
    await slices.yieldIfDue();
    const { descriptors, sockets } = host.processDetails(pid);
    sum.descriptors += descriptors;
    sum.sockets += sockets;
  }
  return sum;
}
