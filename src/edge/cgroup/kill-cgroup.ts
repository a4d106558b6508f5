// Ends every process in a control group. Upstream: tryKillingCgroupProcesses in pod_container_manager_linux.go; here the
// kernel does it in one step where it can (cgroup.kill, v2 from Linux 5.14), and elsewhere a group whose processes make
// others faster than they are killed is frozen while they are counted (v1: freezer.state, v2: cgroup.freeze).
// Invariant: what was frozen here is thawed again, whatever happens.
import { join } from 'node:path';
import { isGone, readCgroupFile, writeCgroupFile } from './cgroup-files.ts';
import { processesBelow } from './cgroup-tree.ts';

interface KillPlaces {
  /** Wherever the group lies. */
  readonly all: readonly string[];
  /** Where it can be frozen: the freezer's hierarchy on v1, the group itself on v2. */
  readonly freezer: { readonly place: string; readonly version: 1 | 2 } | undefined;
}

const killTries = 5;
const freezeReads = 20;

/** Returns when nobody is left or nothing more can be done; whoever still is there did not die of it. */
export async function killCgroup(places: KillPlaces, kill: (pid: number) => void): Promise<void> {
  const { freezer } = places;
  // Without the file the kernel does not know how, or there is nothing.
  if (freezer?.version === 2 && (await writeUnlessGone(join(freezer.place, 'cgroup.kill'), '1'))) return;
  // What is killed may have made others meanwhile; once is enough as a rule.
  if (!(await killFound(places, kill))) return;
  for (let attempt = 1; attempt < killTries; attempt++)
    if (!(await whileFrozen(places, () => killFound(places, kill)))) return;
}

/** Whether there was anybody. */
async function killFound(places: KillPlaces, kill: (pid: number) => void): Promise<boolean> {
  const lists = await Promise.all(places.all.map(processesBelow));
  const pids = new Set(lists.flat());
  for (const pid of pids) kill(pid);
  return pids.size > 0;
}

async function whileFrozen<T>({ freezer }: KillPlaces, work: () => Promise<T>): Promise<T> {
  if (freezer === undefined) return await work();
  const { place, version } = freezer;
  const file = join(place, version === 1 ? 'freezer.state' : 'cgroup.freeze');
  const [freeze, thaw] = version === 1 ? ['FROZEN', 'THAWED'] : ['1', '0'];
  const frozen = await writeUnlessGone(file, freeze);
  try {
    if (frozen) await untilFrozen(place, version);
    return await work();
  } finally {
    if (frozen) await writeUnlessGone(file, thaw);
  }
}

/** A process in the middle of a system call is not frozen at once, and one that never is must not hold this up. */
async function untilFrozen(place: string, version: 1 | 2): Promise<void> {
  for (let read = 0; read < freezeReads; read++) {
    const text = await readCgroupFile(join(place, version === 1 ? 'freezer.state' : 'cgroup.events'));
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
