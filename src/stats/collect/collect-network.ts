// Collects what went over the network of each pod: as a process in it sees it, since interfaces belong to a namespace.
// Upstream: cadvisor's networkStatsFromProc on the sandbox's process. Holds no state.
// Invariant: a pod whose processes have gone, or run on another kernel, has what its runtime says, if anything.

import type { PodSandboxStats } from '../../api/cri/generated/runtime/v1/api.ts';
import type { CgroupReader } from '../../api/ports/cgroup-usage.ts';
import type { InterfaceUsage } from '../../api/ports/host-usage.ts';
import { Slices, type SlicesDeps } from '../slices.ts';
import type { Answer } from './ask-runtime.ts';
import type { PodUsageParts } from './collect-usage.ts';
import { interfacesOf } from './runtime-usage.ts';

export interface CollectNetworkDeps extends SlicesDeps {
  readonly cgroups: Pick<CgroupReader, 'processes'> | undefined;
  readonly host: { interfaces(pid?: number): readonly InterfaceUsage[] };
  readonly askSandboxes: () => Promise<Answer<ReadonlyMap<string, PodSandboxStats>>>;
}

export interface CollectedNetwork {
  readonly node: readonly InterfaceUsage[];
  /** By pod. */
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
    const { fault, value } = await deps.askSandboxes();
    if (fault !== undefined) faults.push(fault);
    for (const { pod, sandbox } of missing) {
      const told = interfacesOf(value.get(sandbox.id)?.linux?.network);
      if (told.length > 0) found.set(pod.uid, told);
    }
  }
  return { node: deps.host.interfaces(), pods: found, faults };
}

/** The sandbox's own; a runtime may have none for it, and then any of the pod does. */
function firstProcess({ cgroups }: CollectNetworkDeps, parts: PodUsageParts): number | undefined {
  for (const path of [parts.sandboxPath, ...parts.containers.map((each) => each.path)]) {
    const pid = path === undefined ? undefined : cgroups?.processes(path)[0];
    if (pid !== undefined) return pid;
  }
  return undefined;
}
