// Kills every process in a cgroup. Upstream: tryKillingCgroupProcesses in pod_container_manager_linux.go. Uses the kernel's
// cgroup.kill if it exists (v2, Linux 5.14). Otherwise a cgroup whose processes fork faster than they are killed is frozen
// while they are killed (v1: freezer.state, v2: cgroup.freeze).
// Invariant: a cgroup frozen here is thawed again, also after an error.
import { join } from 'node:path';
import { isGone, readCgroupFile, writeCgroupFile } from './cgroup-files.ts';
import { processesBelow } from './cgroup-tree.ts';

interface KillTarget {
  /** The directories of the cgroup in all hierarchies. */
  readonly all: readonly string[];
  /** Where it can be frozen: in the freezer hierarchy on v1, in the cgroup itself on v2. */
  readonly freezer: { readonly directory: string; readonly version: 1 | 2 } | undefined;
}

const maxKillAttempts = 5;
const maxFreezeReads = 20;

/** Returns when no process is left, or after the last attempt. Processes that are then left survived their kill. */
export async function killCgroup(target: KillTarget, kill: (pid: number) => void): Promise<void> {
  const { freezer } = target;
  // Without the file the kernel does not support it, or the cgroup does not exist.
  if (freezer?.version === 2 && (await writeUnlessGone(join(freezer.directory, 'cgroup.kill'), '1'))) return;
  // Processes may have forked meanwhile. One round usually suffices.
  if (!(await killFound(target, kill))) return;
  for (let attempt = 1; attempt < maxKillAttempts; attempt++)
    if (!(await whileFrozen(target, () => killFound(target, kill)))) return;
}

/** Returns whether there were any processes. */
async function killFound(target: KillTarget, kill: (pid: number) => void): Promise<boolean> {
  const lists = await Promise.all(target.all.map(processesBelow));
  const pids = new Set(lists.flat());
  for (const pid of pids) kill(pid);
  return pids.size > 0;
}

async function whileFrozen<T>({ freezer }: KillTarget, work: () => Promise<T>): Promise<T> {
  if (freezer === undefined) return await work();
  const { directory, version } = freezer;
  const file = join(directory, version === 1 ? 'freezer.state' : 'cgroup.freeze');
  const [freeze, thaw] = version === 1 ? ['FROZEN', 'THAWED'] : ['1', '0'];
  const frozen = await writeUnlessGone(file, freeze);
  try {
    if (frozen) await untilFrozen(directory, version);
    return await work();
  } finally {
    if (frozen) await writeUnlessGone(file, thaw);
  }
}

/** A process inside a system call is not frozen at once. Gives up after some reads, since it may never be. */
async function untilFrozen(directory: string, version: 1 | 2): Promise<void> {
  for (let read = 0; read < maxFreezeReads; read++) {
    const text = await readCgroupFile(join(directory, version === 1 ? 'freezer.state' : 'cgroup.events'));
    if (version === 1 ? text === 'FROZEN' : /^frozen 1$/m.test(text)) return;
  }
}

async function writeUnlessGone(file: string, value: string): Promise<boolean> {
  return await writeCgroupFile(file, value).then(
    () => true,
    (err: unknown) => {
      if (isGone(err)) return false;
      throw err;
    },
  );
}
