// Collects the network usage of each pod through one of its processes, since interfaces belong to a network namespace.
// Stateless. Invariant: for a pod without processes on this kernel the runtime's figures are used, if it has any.
// Upstream: cadvisor's networkStatsFromProc on the sandbox's process.

import type { PodSandboxStats } from '../../api/cri/generated/runtime/v1/api.ts';
import type { CgroupReader } from '../../api/ports/cgroup-usage.ts';
import type { InterfaceUsage } from '../../api/ports/host-usage.ts';
import { Slices, type SlicesDeps } from '../../base/slices.ts';
import type { PodUsageParts } from './collect-usage.ts';
import type { Fetched } from './runtime-stats.ts';
import { interfacesOf } from './runtime-usage.ts';

export interface CollectNetworkDeps extends SlicesDeps {
  readonly cgroups: Pick<CgroupReader, 'processes'> | undefined;
  readonly host: { interfaces(pid?: number): readonly InterfaceUsage[] };
  readonly fetchSandboxes: () => Promise<Fetched<ReadonlyMap<string, PodSandboxStats>>>;
}

export interface CollectedNetwork {
  readonly node: readonly InterfaceUsage[];
  /** By pod UID. */
  readonly pods: ReadonlyMap<string, readonly InterfaceUsage[]>;
  readonly faults: readonly string[];
}

export async function collectNetwork(
  deps: CollectNetworkDeps,
  pods: readonly PodUsageParts[],
): Promise<CollectedNetwork> {
  const slices = new Slices(deps);
  const found = new Map<string, readonly InterfaceUsage[]>();
  for (const parts of pods) {
    await slices.yieldIfDue();
    const pid = firstProcess(deps, parts);
    if (pid !== undefined) found.set(parts.pod.uid, deps.host.interfaces(pid));
  }
  const missing = pods.filter(({ pod }) => !found.has(pod.uid));
  const faults: string[] = [];
  if (missing.length > 0) {
    const { fault, value } = await deps.fetchSandboxes();
    if (fault !== undefined) faults.push(fault);
    for (const { pod, sandbox } of missing) {
      const reported = interfacesOf(value.get(sandbox.id)?.linux?.network);
      if (reported.length > 0) found.set(pod.uid, reported);
    }
  }
  return { node: deps.host.interfaces(), pods: found, faults };
}

/** The sandbox's process; if the runtime has none, any process of the pod. */
function firstProcess({ cgroups }: CollectNetworkDeps, parts: PodUsageParts): number | undefined {
  for (const path of [parts.sandboxPath, ...parts.containers.map((each) => each.path)]) {
    const pid = path === undefined ? undefined : cgroups?.processes(path)[0];
    if (pid !== undefined) return pid;
  }
  return undefined;
}
