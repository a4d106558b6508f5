// The policy none: keeps the state file, which a Go kubelet with another policy refuses to adopt, and undoes what the policy static
// of an earlier start left behind. Upstream: policy_none.go and NewCheckpointState of pkg/kubelet/cm/cpumanager.
// Invariant: the file of the earlier policy is replaced only after the running containers have all CPUs again, so that a kill in
// between loses nothing.
import { untilAborted } from '../../base/abort/race-abort.ts';
import { isAbortOf } from '../../base/errors.ts';
import { goQuote } from '../../base/log/log-value.ts';
import type { KeptCheckpoint } from '../checkpoint/kept-checkpoint.ts';
import { CpuAssignments, type StoredCpus } from './cpu-assignments.ts';
import type { CpuSet } from './cpu-set.ts';
import type { CpuState } from './cpu-state.ts';
import { describe, type RestoreDeps } from './restore-cpus.ts';
import { unpinContainers } from './unpin-containers.ts';

interface WithoutPolicyDeps extends Omit<RestoreDeps, 'checkpoint' | 'runtime'> {
  readonly checkpoint: Pick<KeptCheckpoint<StoredCpus>, 'load' | 'save' | 'saved' | 'flush'>;
  readonly runtime: Parameters<typeof unpinContainers>[0]['runtime'];
  /** All of the machine. */
  readonly cpus: CpuSet;
}

const policyName = 'none';

/** `keep` receives a state of this policy that was found in the file. */
export async function startWithoutPolicy(
  deps: WithoutPolicyDeps,
  keep: (state: CpuState) => void,
  signal: AbortSignal,
): Promise<{ readonly stopped: Promise<void> }> {
  const { checkpoint } = deps;
  const { fault, state: stored } = await checkpoint.load();
  const isForeign = stored !== undefined && stored.policyName !== policyName;
  if (fault === undefined && !isForeign) {
    if (stored !== undefined) keep(new CpuAssignments(stored).toState(policyName));
    checkpoint.save();
    return { stopped: flushAfter(deps, signal) };
  }
  const why = isForeign
    ? `configured policy ${goQuote(policyName)} differs from state checkpoint policy ${goQuote(stored.policyName)}`
    : undefined;
  const recovery = await describe(deps, fault, why);
  return { stopped: undo(deps, recovery, signal) };
}

async function undo(
  deps: WithoutPolicyDeps,
  recovery: Awaited<ReturnType<typeof describe>>,
  signal: AbortSignal,
): Promise<void> {
  const { checkpoint, report } = deps;
  try {
    const { failed, updated } = await unpinContainers(deps, signal);
    report.unpinned(updated);
    for (const { container, uid } of failed) report.notUpdated(uid, container);
    checkpoint.save();
    if (recovery !== undefined) report.open({ manager: 'CPU manager', ...recovery }, []);
  } catch (err) {
    if (!isAbortOf(err, signal)) throw err;
  }
  await flushAfter(deps, signal);
}

async function flushAfter({ checkpoint }: WithoutPolicyDeps, signal: AbortSignal): Promise<void> {
  await untilAborted(signal);
  await checkpoint.saved().catch(() => undefined);
  await checkpoint.flush();
}
