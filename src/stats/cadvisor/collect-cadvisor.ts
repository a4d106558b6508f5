// Collects every figure of every cgroup that is told of: the machine, the node's own, the classes of pods, pods, sandboxes and
// containers. Upstream: cadvisor's manager with the kubelet's cgroup roots. Holds no state.
// Invariant: a cgroup that goes away in the middle is left out whole, never shown with zeros.
import type { CgroupReader, CgroupUsage } from '../../api/ports/cgroup-usage.ts';
import type { DeviceFileSystem, InterfaceUsage, ProcessDetails } from '../../api/ports/host-usage.ts';
import type { CgroupPlaces } from '../collect/cgroup-places.ts';
import type { CollectedNetwork } from '../collect/collect-network.ts';
import type { CollectedUsage, PodUsageParts } from '../collect/collect-usage.ts';
import { Slices, type SlicesDeps } from '../slices.ts';
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

interface Wanted {
  readonly path: string;
  readonly usage?: CgroupUsage | undefined;
  /** As the runtime has it: the kernel dates a cgroup when it is looked at, and anew when it was forgotten meanwhile. */
  readonly beganAtMs?: number;
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
  const wanted: readonly Wanted[] = [
    root,
    ...ownPaths(deps, usage).map((path) => ({ path })),
    ...usage.pods.flatMap((parts) => wantedOfPod(parts, sandboxImage, network)),
  ];
  const slices = new Slices(deps);
  const entries: CadvisorEntry[] = [];
  for (const each of wanted) {
    await slices.yieldIfDue();
    const entry = await look(deps, cgroups, each, slices);
    if (entry !== undefined) entries.push(entry);
  }
  return entries;
}

/** What is neither a pod nor the machine, each once. */
function ownPaths({ places }: CollectCadvisorDeps, usage: CollectedUsage): readonly string[] {
  const paths = [...(places?.classes ?? []), ...usage.system.map((each) => each.usage.path)];
  return [...new Set(paths)].filter((path) => path !== '/');
}

function wantedOfPod(
  parts: PodUsageParts,
  sandboxImage: string,
  network: CollectedNetwork,
): readonly Wanted[] {
  const { containers, path, pod, sandbox, sandboxPath, usage } = parts;
  const ref = { namespace: pod.namespace, pod: pod.name };
  const found: Wanted[] = [];
  if (path !== undefined) found.push({ path, usage, beganAtMs: sandbox.createdAtMs, ...ref });
  if (sandboxPath !== undefined)
    found.push({
      path: sandboxPath,
      beganAtMs: sandbox.createdAtMs,
      name: sandbox.id,
      image: sandboxImage,
      interfaces: network.pods.get(pod.uid) ?? [],
      ...ref,
    });
  for (const { container, path: own, usage: each } of containers) {
    if (own === undefined) continue;
    const { id, image, name, startedAtMs: beganAtMs } = container;
    found.push({ path: own, usage: each, beganAtMs, container: name, image, name: id, ...ref });
  }
  return found;
}

async function look(
  deps: CollectCadvisorDeps,
  cgroups: CgroupReader,
  wanted: Wanted,
  slices: Slices,
): Promise<CadvisorEntry | undefined> {
  const { beganAtMs, ...told } = wanted;
  const { path } = told;
  const usage = told.usage ?? cgroups.usage(path);
  const details = cgroups.details(path);
  if (usage === undefined || details === undefined) return undefined;
  const pids = cgroups.processes(path);
  const [first] = pids;
  return {
    container: '',
    image: '',
    name: '',
    namespace: '',
    pod: '',
    interfaces: [],
    fileSystems: [],
    ...told,
    usage,
    details: { ...details, createdAtMs: beganAtMs ?? Math.max(details.createdAtMs, deps.bootedAtMs) },
    processes: await openBy(deps, pids, slices),
    softOpenFiles: first === undefined ? undefined : deps.host.softOpenFiles(first),
  };
}

async function openBy(
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
