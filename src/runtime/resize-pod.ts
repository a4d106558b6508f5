// Resizes a pod's cgroup and its running containers to their allocated resources. Upstream: doPodResizeAction,
// validateMemoryResizeAction and updatePodContainerResources in kuberuntime_manager.go.
// Invariants: the pod's limits grow before its containers' and shrink after them; memory is resized before CPU; the runtime is
// notified of a change of the pod's cgroup before it is made, and an error makes it undone or not made; the actuated
// resources of a container are recorded as soon as the runtime has them, so that a restarted kubelet continues from there.
import { type CriRuntime, isNotImplemented, rpcErrorText } from '../api/cri/runtime.ts';
import type { Container, Pod } from '../api/k8s/types.ts';
import { findContainer } from '../api/pod/find-container.ts';
import { readySandbox } from '../api/pod/observed.ts';
import { podRef, podUid } from '../api/pod/pod-ref.ts';
import {
  type ResizeAmounts,
  resizeAmounts,
  sameResizeAmounts,
  withResizeAmounts,
} from '../api/pod/resize.ts';
import { sharesToWeight, weightToShares } from '../api/quantity/cpu-shares.ts';
import { describeError, isAbort, KubeletError } from '../base/errors.ts';
import { cgroupResources, containerResources, overheadResources } from './container/linux-resources.ts';
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

/** Cgroup v1 reports no limit as the largest multiple of the page size. */
const unlimitedFrom = 2n ** 62n;

/** Rejects only when aborted. A failed resize is recorded in the context, and the sync continues. */
export async function resizePod(deps: ResizeDeps, context: SyncContext, action: ResizePod): Promise<void> {
  const { clock, records, report } = deps;
  const startedMs = clock.monotonic();
  context.resized = true;
  let success = false;
  try {
    await resize(deps, context, action);
    success = true;
  } catch (err) {
    if (isAbort(err) || context.signal.aborted) throw err;
    context.resizeFailure = err instanceof KubeletError ? rpcErrorText(err) : describeError(err);
    context.failure ??= err;
    report.log.v(2).info('Failed to resize pod', { pod: podRef(context.pod), err });
  } finally {
    records.resizes?.took(clock.monotonic() - startedMs, success);
    // The status reports what the kernel has, also after a failure half-way.
    if (context.acted) await deps.node.cgroups?.amounts(context.pod).catch(() => undefined);
  }
}

async function resize(deps: ResizeDeps, context: SyncContext, action: ResizePod): Promise<void> {
  const { cgroups } = deps.node;
  const { pod } = context;
  // Otherwise a kubelet that is killed now would find containers larger than their checkpointed allocation.
  await deps.records.resizes?.saved();
  const wanted = cgroups?.desiredAmounts(pod) ?? {};
  const before = (await cgroups?.amounts(pod)) ?? {};
  const setPod = podCgroupWriter(deps, context, { ...wanted, ...before });
  const current = new Map([...action.memory, ...action.cpu].map((each) => [each.name, each.current]));
  if (action.memory.length > 0 || action.podCgroup) {
    await checkMemory(deps, context, action, wanted, before);
    const limit = compare(wanted.memoryLimitBytes, before.memoryLimitBytes);
    const settings = {
      memoryLimitBytes: wanted.memoryLimitBytes ?? -1n,
      ...(wanted.unified === undefined ? {} : { unified: wanted.unified }),
    };
    if (limit > 0) await setPod('memory', settings);
    for (const each of action.memory) {
      const { memoryLimitBytes, memoryRequestBytes } = each.desired;
      await update(deps, context, each, current, { memoryLimitBytes, memoryRequestBytes });
    }
    if (limit < 0) await setPod('memory', settings);
    if (action.podLevel) recordPodLevel(deps, pod, 'memory');
  }
  if (action.cpu.length > 0 || action.podCgroup) {
    const limit = compare(wanted.cpuQuotaUs, before.cpuQuotaUs);
    const shares = compareShares(wanted.cpuShares, before.cpuShares, cgroups?.version);
    const { cpuPeriodUs, cpuQuotaUs = -1n, cpuShares } = wanted;
    const quota = { cpuQuotaUs, ...(cpuPeriodUs === undefined ? {} : { cpuPeriodUs }) };
    const weight = cpuShares === undefined ? {} : { cpuShares };
    if (limit > 0) await setPod('cpu', quota);
    if (shares > 0) await setPod('cpu', weight);
    for (const each of action.cpu) {
      const { cpuLimitMilli, cpuRequestMilli } = each.desired;
      await update(deps, context, each, current, { cpuLimitMilli, cpuRequestMilli });
    }
    if (shares < 0) await setPod('cpu', weight);
    if (limit < 0) await setPod('cpu', quota);
    if (action.podLevel) recordPodLevel(deps, pod, 'cpu');
  }
}

/** Above 0: the limit grows. An unset limit is left unchanged, as upstream does; -1, 0 and the kernel's maximum mean no limit. */
function compare(wanted: bigint | undefined, before: bigint | undefined): number {
  if (wanted === undefined || before === undefined) return 0;
  const [a, b] = [wanted, before].map((each) => (each <= 0n || each > unlimitedFrom ? 2n ** 63n : each)) as [
    bigint,
    bigint,
  ];
  return a === b ? 0 : a > b ? 1 : -1;
}

/** On cgroup v2 the kernel has a weight, which is coarser: an unchanged weight is no change. */
function compareShares(
  wanted: bigint | undefined,
  before: bigint | undefined,
  cgroupVersion: 1 | 2 | undefined,
): number {
  if (wanted === undefined || before === undefined) return 0;
  const kept = cgroupVersion === 2 ? weightToShares(sharesToWeight(wanted)) : wanted;
  return Number(kept - before);
}

/** Called after each resource, so that a kubelet that is killed in between resumes with the other one. */
function recordPodLevel({ records }: ResizeDeps, pod: Pod, resource: 'cpu' | 'memory'): void {
  const { resizes } = records;
  const { resources } = pod.spec ?? {};
  const wanted = resizeAmounts(resources);
  const before = resizeAmounts(resizes?.actuatedPodLevel(podUid(pod)) ?? undefined);
  const { cpuLimitMilli, cpuRequestMilli, memoryLimitBytes, memoryRequestBytes } = wanted;
  const done =
    resource === 'cpu' ? { cpuLimitMilli, cpuRequestMilli } : { memoryLimitBytes, memoryRequestBytes };
  const now = { ...before, ...done };
  const reached = sameResizeAmounts(now, wanted);
  resizes?.actuatePodLevel(podUid(pod), reached ? resources : withResizeAmounts(resources, now));
}

/**
 * Returns a function that writes settings to the pod's cgroup. The runtime is notified first, and may reject the change. If the
 * kernel then rejects it, the runtime is notified of the previous amounts again.
 */
function podCgroupWriter(
  deps: ResizeDeps,
  context: SyncContext,
  before: PodAmounts,
): (resource: 'cpu' | 'memory', settings: PodAmounts) => Promise<void> {
  const { cgroups } = deps.node;
  const { pod, signal } = context;
  let known = before;
  return async (resource, settings) => {
    if (cgroups === undefined) return;
    signal.throwIfAborted();
    context.acted = true;
    const next = { ...known, ...settings };
    await notifyRuntime(deps, context, next).catch((err: unknown) => {
      if (isAbort(err) || signal.aborted) throw err;
      throw rejected(resource, err);
    });
    try {
      await cgroups.set(pod, settings);
    } catch (err) {
      await notifyRuntime(deps, context, known).catch((failure: unknown) =>
        deps.report.log.error('Failed to revert sandbox resources', { pod: podRef(pod), err: failure }),
      );
      throw err;
    }
    known = next;
  };
}

/** A runtime that does not implement the call has no say. */
async function notifyRuntime(deps: ResizeDeps, context: SyncContext, amounts: PodAmounts): Promise<void> {
  const { cri, node } = deps;
  const { pod, seen, signal } = context;
  const podSandboxId = readySandbox(seen)?.id;
  if (podSandboxId === undefined) return;
  const overhead = overheadResources(pod, node.settings.resources);
  const resources = cgroupResources(pod, amounts);
  try {
    await cri.updatePodSandboxResources({ podSandboxId, overhead, resources }, { signal });
  } catch (err) {
    if (isNotImplemented(err)) return;
    if (isAbort(err) || !(err instanceof KubeletError)) throw err;
    const message = `updatePodSandboxResources failed for sanboxID ${JSON.stringify(podSandboxId)}: ${rpcErrorText(err)}`;
    throw new KubeletError(err.kind, 'ResizeError', message, { cause: err });
  }
}

function rejected(resource: string, err: unknown): KubeletError {
  const kind = err instanceof KubeletError ? err.kind : 'internal';
  const message = `failed to notify runtime for UpdatePodSandboxResources (resource=${resource}); resize rejected: ${describeError(err)}`;
  return new KubeletError(kind, 'ResizeError', message, { cause: err });
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
  context.acted = true;
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
