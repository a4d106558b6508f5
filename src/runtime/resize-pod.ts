// Resizes a pod's cgroup and its running containers to their allocated resources. Upstream: doPodResizeAction,
// validateMemoryResizeAction and updatePodContainerResources in kuberuntime_manager.go.
// Invariants: the pod's limits grow before its containers' and shrink after them; memory is resized before CPU; the actuated
// resources of a container are recorded as soon as the runtime has them, so that a restarted kubelet continues from there.
import { type CriRuntime, isUnimplemented } from '../api/cri/runtime.ts';
import type { Container } from '../api/k8s/types.ts';
import { findContainer } from '../api/pod/find-container.ts';
import { readySandbox } from '../api/pod/observed.ts';
import { podRef, podUid } from '../api/pod/pod-ref.ts';
import { type ResizeAmounts, withResizeAmounts } from '../api/pod/resize.ts';
import type { CgroupSettings } from '../api/ports/cgroups.ts';
import { describeError, isAbort, KubeletError } from '../base/errors.ts';
import { containerResources, overheadResources, sandboxResources } from './container/linux-resources.ts';
import type { ContainerResize, ResizePod } from './decide/pod-action.ts';
import type {
  ContainerRecords,
  PodAmounts,
  PodRuntimeDeps,
  RuntimeNode,
  RuntimeReports,
} from './runtime-deps.ts';
import type { SyncContext } from './sync-context.ts';

interface ResizeDeps extends Pick<PodRuntimeDeps, 'clock'> {
  readonly cri: Pick<CriRuntime, 'containerStats' | 'updateContainerResources' | 'updatePodSandboxResources'>;
  readonly node: Pick<RuntimeNode, 'cgroups' | 'settings'>;
  readonly records: Pick<ContainerRecords, 'resizes'>;
  readonly report: Pick<RuntimeReports, 'log'>;
}

/** Rejects only when aborted. A failed resize is recorded in the context, and the sync continues. */
export async function resizePod(deps: ResizeDeps, context: SyncContext, action: ResizePod): Promise<void> {
  const { clock, records, report } = deps;
  const startedMs = clock.monotonic();
  context.acted = true;
  context.resized = true;
  let success = false;
  try {
    await resize(deps, context, action);
    success = true;
  } catch (err) {
    if (isAbort(err) || context.signal.aborted) throw err;
    context.resizeFailure = describeError(err);
    context.failure ??= err;
    report.log.v(2).info('Failed to resize pod', { pod: podRef(context.pod), err });
  } finally {
    records.resizes?.took(clock.monotonic() - startedMs, success);
  }
}

async function resize(deps: ResizeDeps, context: SyncContext, action: ResizePod): Promise<void> {
  const { cgroups } = deps.node;
  const { pod } = context;
  // Otherwise a kubelet that is killed now would find containers larger than their checkpointed allocation.
  await deps.records.resizes?.saved();
  const wanted = cgroups?.desiredAmounts(pod) ?? {};
  const before = (await cgroups?.amounts(pod)) ?? {};
  const current = new Map([...action.memory, ...action.cpu].map((each) => [each.name, each.current]));
  if (action.memory.length > 0 || action.restarts) {
    await checkMemory(deps, context, action, wanted, before);
    const limit = compare(wanted.memoryLimitBytes, before.memoryLimitBytes);
    const settings = { memoryLimitBytes: wanted.memoryLimitBytes ?? -1n };
    if (limit > 0) await setPod(deps, context, settings);
    for (const each of action.memory) {
      const { memoryLimitBytes, memoryRequestBytes } = each.desired;
      await update(deps, context, each, current, { memoryLimitBytes, memoryRequestBytes });
    }
    if (limit < 0) await setPod(deps, context, settings);
  }
  if (action.cpu.length > 0 || action.restarts) {
    const limit = compare(wanted.cpuQuotaUs, before.cpuQuotaUs);
    const shares = Number((wanted.cpuShares ?? 0n) - (before.cpuShares ?? wanted.cpuShares ?? 0n));
    const { cpuPeriodUs, cpuQuotaUs = -1n, cpuShares } = wanted;
    const quota = { cpuQuotaUs, ...(cpuPeriodUs === undefined ? {} : { cpuPeriodUs }) };
    const weight = cpuShares === undefined ? {} : { cpuShares };
    if (limit > 0) await setPod(deps, context, quota);
    if (shares > 0) await setPod(deps, context, weight);
    for (const each of action.cpu) {
      const { cpuLimitMilli, cpuRequestMilli } = each.desired;
      await update(deps, context, each, current, { cpuLimitMilli, cpuRequestMilli });
    }
    if (shares < 0) await setPod(deps, context, weight);
    if (limit < 0) await setPod(deps, context, quota);
  }
}

/** Above 0: the limit grows. An unset limit is left unchanged, as upstream does; -1 and 0 mean no limit. */
function compare(wanted: bigint | undefined, before: bigint | undefined): number {
  if (wanted === undefined || before === undefined) return 0;
  const [a, b] = [wanted, before].map((each) => (each <= 0n ? 2n ** 63n : each)) as [bigint, bigint];
  return a === b ? 0 : a > b ? 1 : -1;
}

async function setPod(deps: ResizeDeps, context: SyncContext, settings: CgroupSettings): Promise<void> {
  const { cgroups, settings: podSettings } = deps.node;
  const { pod, seen, signal } = context;
  if (cgroups === undefined) return;
  signal.throwIfAborted();
  await cgroups.set(pod, settings);
  const podSandboxId = readySandbox(seen)?.id;
  if (podSandboxId === undefined) return;
  try {
    const overhead = overheadResources(pod, podSettings.resources);
    const resources = sandboxResources(pod, podSettings.resources);
    await deps.cri.updatePodSandboxResources({ podSandboxId, overhead, resources }, { signal });
  } catch (err) {
    if (isAbort(err)) throw err;
    // The call only informs the runtime, and most runtimes do not implement it.
    if (!isUnimplemented(err))
      deps.report.log.v(2).info('Failed to update sandbox resources', { pod: podRef(pod), err });
  }
}

/** Sends the container's full resources: the new amounts of one resource, and the last actuated ones of the other. */
async function update(
  deps: ResizeDeps,
  context: SyncContext,
  { id, name }: ContainerResize,
  current: Map<string, ResizeAmounts>,
  change: Partial<ResizeAmounts>,
): Promise<void> {
  const { cri, node, records } = deps;
  const { pod, signal } = context;
  const spec = findContainer(pod, name);
  const before = current.get(name);
  if (spec === undefined || before === undefined) return;
  signal.throwIfAborted();
  const amounts = { ...before, ...change };
  const container: Container = { ...spec, resources: withResizeAmounts(spec.resources, amounts) };
  const linux = containerResources(pod, container, node.settings.resources);
  await cri.updateContainerResources({ containerId: id, linux }, { signal });
  current.set(name, amounts);
  records.resizes?.actuate(podUid(pod), name, container.resources ?? {});
}

/** A memory limit below the current usage would cause an OOM kill, so it is refused before anything changes. */
async function checkMemory(
  { cri, node: { cgroups } }: ResizeDeps,
  { pod, signal }: SyncContext,
  { memory }: ResizePod,
  wanted: PodAmounts,
  before: PodAmounts,
): Promise<void> {
  const problems: string[] = [];
  if (cgroups !== undefined && compare(wanted.memoryLimitBytes, before.memoryLimitBytes) < 0) {
    const usage = await cgroups.memoryUsageBytes(pod);
    const limit = wanted.memoryLimitBytes ?? 0n;
    if (usage >= limit)
      problems.push(`attempting to set pod memory limit (${limit}) below current usage (${usage})`);
  }
  for (const { id, name, desired, current } of memory) {
    const limit = desired.memoryLimitBytes;
    if (limit === 0n || (current.memoryLimitBytes !== 0n && limit >= current.memoryLimitBytes)) continue;
    const usage = (await cri.containerStats({ containerId: id }, { signal })).stats?.memory?.usageBytes
      ?.value;
    if (usage === undefined) problems.push(`missing container ${JSON.stringify(name)} memory usage`);
    // differs from upstream: the message names the container's usage, not the pod's.
    else if (usage >= limit)
      problems.push(
        `attempting to set container ${JSON.stringify(name)} memory limit (${limit}) below current usage (${usage})`,
      );
  }
  if (problems.length === 0) return;
  const text = problems.length === 1 ? problems[0] : `[${problems.join(', ')}]`;
  throw new KubeletError('conflict', 'ResizeError', `cannot decrease memory limits: ${text}`);
}
