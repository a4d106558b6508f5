// Carries out the recovery of the memory manager's state at start: reads what running containers use, and reports once.
// No counterpart upstream, which does not start. Invariant: one log line and at most one event, and none if the file could be used.
import type { ContainerId } from '../../api/pod/pod-ref.ts';
import type { EventSink } from '../../api/ports/events.ts';
import type { Logger } from '../../base/log/log.ts';
import type { LoadedCheckpoint } from '../checkpoint/kept-checkpoint.ts';
import { type AssignedMemory, blocksOf } from './memory-blocks.ts';
import type { MachineState, MemoryState } from './memory-state.ts';
import { type MemoryPolicy, recoverMemoryState } from './recover-memory-state.ts';
import { computeRecoveryReport } from './recovery-report.ts';
import {
  AdoptablePods,
  adoptRunning,
  type BoundContainer,
  type RunningContainer,
  readBoundNodes,
} from './running-memory.ts';

export interface MemoryRecoveryDeps {
  readonly log: Logger;
  readonly events: Pick<EventSink, 'node'>;
  /** The running containers of Guaranteed pods. Called only if the state was lost or does not apply. */
  readonly running: () => Promise<readonly RunningContainer[]>;
  /** cpuset.mems of a container as it was set, such as `0-1`; undefined if it may use all nodes. */
  readonly cpusetMemsOf: (id: ContainerId) => Promise<string | undefined>;
}

interface RestoredMemory {
  readonly assigned: AssignedMemory;
  readonly adoptable: AdoptablePods;
}

/** `initial` is the machine without assignments. Never rejects. */
export async function restoreMemory(
  deps: MemoryRecoveryDeps,
  policy: MemoryPolicy,
  initial: MachineState,
  { fault, state }: LoadedCheckpoint<MemoryState>,
  path: string,
): Promise<RestoredMemory> {
  const { assigned: restored, dropped, why } = recoverMemoryState(policy, initial, state);
  if (state !== undefined && fault === undefined && why === undefined)
    return { assigned: restored, adoptable: new AdoptablePods() };
  const running = await boundContainers(deps);
  const bound = running.filter(({ nodes }) => nodes !== undefined);
  const { assigned, incomplete, unbound } =
    policy === 'Static'
      ? adoptRunning(restored, running)
      : { assigned: restored, incomplete: [], unbound: bound };
  const names = new Map<string, string>(running.map(({ pod, uid }) => [uid, pod]));
  const isGone = (uid: string, container: string): boolean =>
    policy === 'Static' && blocksOf(assigned.entries, uid, container) === undefined;
  const report = computeRecoveryReport({
    path,
    fault,
    why,
    isLost: state === undefined && fault === undefined && bound.length > 0,
    hasEntries: Object.keys(assigned.entries).length > 0,
    dropped: dropped
      .filter(({ container, uid }) => isGone(uid, container))
      .map(({ uid }) => names.get(uid) ?? uid),
    running: unbound.map(({ pod }) => pod),
  });
  if (report !== undefined) {
    const fields = { path, why: report.why, setAside: fault?.setAside };
    if (report.message === undefined) deps.log.info('Replaced the state of the memory manager', fields);
    else {
      deps.log.warn('Recovered the state of the memory manager', { ...fields, message: report.message });
      deps.events.node({ type: 'Warning', reason: 'ManagerStateRecovered', message: report.message });
    }
  }
  return { assigned, adoptable: new AdoptablePods(incomplete) };
}

async function boundContainers({
  cpusetMemsOf,
  log,
  running,
}: MemoryRecoveryDeps): Promise<readonly BoundContainer[]> {
  try {
    return await readBoundNodes(await running(), cpusetMemsOf);
  } catch (err) {
    log.error('Failed to list running containers for the memory manager', { err });
    return [];
  }
}
