// Reports that the state of an earlier kubelet could not be used as it was. Pure. No counterpart upstream, which does not start.
import type { CheckpointFault } from '../checkpoint/kept-checkpoint.ts';

interface MemoryRecovery {
  readonly path: string;
  readonly fault: CheckpointFault | undefined;
  /** Why the decoded file does not apply. */
  readonly why: string | undefined;
  /** Whether there is neither a file nor its predecessor, although containers are bound to NUMA nodes. */
  readonly isLost: boolean;
  /** Whether the file had or now has any assignments. */
  readonly hasEntries: boolean;
  /** Pods with an assignment that is no longer possible. */
  readonly dropped: readonly string[];
  /** Pods whose running containers do not follow the policy. */
  readonly running: readonly string[];
}

interface RecoveryReport {
  readonly why: string;
  /** The text of the event; undefined if no pod is concerned. */
  readonly message: string | undefined;
}

/** A message of an event has at most 1024 bytes. */
const mostPods = 10;

/** Undefined if the file could be used as it was. */
export function computeRecoveryReport(recovery: MemoryRecovery): RecoveryReport | undefined {
  const { dropped, fault, hasEntries, isLost, path, running } = recovery;
  const whys = [fault?.why, isLost ? 'the file is missing' : undefined, recovery.why];
  const why = whys.filter((each) => each !== undefined).join('; ');
  if (why === '') return undefined;
  if (fault === undefined && !isLost && !hasEntries && dropped.length + running.length === 0)
    return { why, message: undefined };
  const parts = [`Recovered the state of the memory manager, ${path}: ${why}.`];
  if (fault !== undefined)
    parts.push(
      `The damaged file is now ${fault.setAside}${fault.usedPrevious ? '; its predecessor was used' : ''}.`,
    );
  if (dropped.length > 0)
    parts.push(`Assignments that are no longer possible were dropped, of pods: ${enumerate(dropped)}.`);
  if (running.length > 0)
    parts.push(
      `Running containers keep their NUMA nodes; the policy applies after their restart to pods: ${enumerate(running)}.`,
    );
  return { why, message: parts.join(' ') };
}

function enumerate(names: readonly string[]): string {
  const pods = [...new Set(names)].toSorted();
  const shown = pods.slice(0, mostPods).join(', ');
  return pods.length > mostPods ? `${shown} and ${pods.length - mostPods} more` : shown;
}
