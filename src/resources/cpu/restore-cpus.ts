// Restores the assignments of the static policy at start, whatever state the file is in. Upstream: NewCheckpointState and
// validateState of pkg/kubelet/cm/cpumanager, which refuse to start instead.
// Invariant: the result always fits the machine and the configuration.
import { basename, dirname, join } from 'node:path';
import type { PodUid } from '../../api/pod/pod-ref.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log/log.ts';
import type { CheckpointFault, KeptCheckpoint, KeptFiles } from '../checkpoint/kept-checkpoint.ts';
import { CpuAssignments, type StoredCpus } from './cpu-assignments.ts';
import { computeRecoveredCpus, type RecoveryRules } from './recover-cpu-state.ts';
import type { RecoveryReport } from './recovery-report.ts';
import { type CpusetReader, computeClaims, type SurveyedContainer, surveyCpusets } from './survey-cpusets.ts';

export interface RestoreDeps {
  readonly checkpoint: Pick<KeptCheckpoint<StoredCpus>, 'load'>;
  readonly files: Pick<KeptFiles, 'keep'>;
  readonly path: string;
  readonly runtime: CpusetReader;
  readonly report: RecoveryReport;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The kubelet starts without the survey if the runtime does not answer in time: containers are then moved instead of adopted. */
const surveyDeadlineMs = 5_000;

export async function restoreCpus(
  deps: RestoreDeps,
  rules: RecoveryRules,
  signal: AbortSignal,
): Promise<CpuAssignments> {
  const { checkpoint, report } = deps;
  const { fault, state: stored } = await checkpoint.load();
  const { moved, why, ...recovered } = computeRecoveredCpus(stored, rules);
  const state = new CpuAssignments(recovered);
  const isLost = fault !== undefined || stored?.policyName !== rules.policyName;
  const running = isLost ? await survey(deps, signal) : [];
  const assignable = rules.all.difference(rules.reserved).difference(state.exclusive());
  for (const { cpus, name, uid } of computeClaims(running, assignable, rules.isStrict))
    if (state.get(uid, name) === undefined) state.claim(uid, name, cpus);
  for (const { container, from, to, uid } of moved) {
    if (to === undefined) report.unplaced(uid, container);
    else report.moved(uid, container, `${from}`, `${to}`);
  }
  const recovery = await describe(deps, fault, why);
  const affected = new Set<PodUid>([...moved, ...running].map(({ uid }) => uid));
  if (recovery !== undefined) report.open({ manager: 'CPU manager', ...recovery }, affected);
  return state;
}

/** Why the file could not be used as it was, and where it is now; undefined if it could. */
export async function describe(
  { files, log, path }: Pick<RestoreDeps, 'files' | 'log' | 'path'>,
  fault: CheckpointFault | undefined,
  why: string | undefined,
): Promise<{ path: string; why: string; setAside: string; usedPrevious: boolean } | undefined> {
  if (fault !== undefined) return { ...fault, why: why === undefined ? fault.why : `${fault.why}; ${why}` };
  if (why === undefined) return undefined;
  const setAside = join(dirname(path), `.${basename(path)}.replaced`);
  await files.keep(path, setAside).catch((err: unknown) => {
    log.error('Failed to set aside the state of the CPU manager', { path, setAside, err });
  });
  return { path, why, setAside, usedPrevious: false };
}

async function survey(
  { clock, log, runtime }: RestoreDeps,
  signal: AbortSignal,
): Promise<readonly SurveyedContainer[]> {
  try {
    return await surveyCpusets(runtime, { clock, ms: surveyDeadlineMs, signal });
  } catch (err) {
    signal.throwIfAborted();
    log.error('Failed to read the CPUs of running containers', { err });
    return [];
  }
}
