// Makes the stored assignments fit the machine and the configuration. Pure.
// Upstream: validateState of pkg/kubelet/cm/cpumanager/policy_static.go, whose texts are kept as the reason.
// differs from upstream, which does not start until the node is drained and the file is deleted: assignments that still fit are
// kept, others are moved to free CPUs, which is safe while the container runs, or dropped if too few are free.
import type { PodUid } from '../../api/pod/pod-ref.ts';
import { goQuote } from '../../base/log/log-value.ts';
import type { CpuEntries, StoredCpus } from './cpu-assignments.ts';
import { CpuSet } from './cpu-set.ts';

export interface RecoveryRules {
  readonly policyName: string;
  /** Of the machine, without reserved ones if their reservation is strict. */
  readonly all: CpuSet;
  readonly reserved: CpuSet;
  readonly isStrict: boolean;
  /** Chooses CPUs; throws if too few are available. */
  readonly take: (available: CpuSet, count: number) => CpuSet;
}

interface MovedContainer {
  readonly uid: PodUid;
  readonly container: string;
  readonly from: CpuSet;
  /** Undefined: it lost its exclusive CPUs. */
  readonly to: CpuSet | undefined;
}

interface RecoveredCpus {
  readonly defaultCpus: CpuSet;
  readonly entries: CpuEntries;
  /** Why the stored state cannot be used as it is; undefined if it can. */
  readonly why: string | undefined;
  readonly moved: readonly MovedContainer[];
}

export function computeRecoveredCpus(stored: StoredCpus | undefined, rules: RecoveryRules): RecoveredCpus {
  const fresh = { defaultCpus: rules.all, entries: new Map(), why: undefined, moved: [] };
  if (stored === undefined) return fresh;
  const why = findFault(stored, rules);
  const isUninitialised = stored.defaultCpus.isEmpty && stored.entries.size === 0;
  if (why === undefined) return isUninitialised ? fresh : { ...stored, why, moved: [] };
  if (stored.policyName !== rules.policyName) return { ...fresh, why };
  return { ...placeAgain(stored.entries, rules), why };
}

/** The first fault, in upstream's words where upstream checks for it. */
function findFault(
  { defaultCpus, entries, policyName }: StoredCpus,
  rules: RecoveryRules,
): string | undefined {
  const { all, isStrict, reserved } = rules;
  if (policyName !== rules.policyName)
    return `configured policy ${goQuote(rules.policyName)} differs from state checkpoint policy ${goQuote(policyName)}`;
  if (defaultCpus.isEmpty) return entries.size === 0 ? undefined : 'default cpuset cannot be empty';
  const sharedReserved = reserved.intersection(defaultCpus);
  if (isStrict && !sharedReserved.isEmpty)
    return `some of strictly reserved cpus: ${quoted(sharedReserved)} are present in defaultCpuSet: ${quoted(defaultCpus)}`;
  if (!isStrict && !sharedReserved.equals(reserved))
    return `not all reserved cpus: ${quoted(reserved)} are present in defaultCpuSet: ${quoted(defaultCpus)}`;
  const overlap = findOverlap(defaultCpus, entries);
  if (overlap !== undefined) return overlap;
  let known = defaultCpus;
  for (const containers of entries.values()) known = known.union(unionOf(containers));
  if (known.equals(all)) return undefined;
  return `current set of available CPUs ${quoted(all)} doesn't match with CPUs in state ${quoted(known)}`;
}

function findOverlap(defaultCpus: CpuSet, entries: CpuEntries): string | undefined {
  let others = CpuSet.empty;
  for (const [uid, containers] of sorted(entries)) {
    for (const [name, cpus] of sorted(containers)) {
      if (!cpus.intersection(defaultCpus).isEmpty)
        return `pod: ${uid}, container: ${name} cpuset: ${quoted(cpus)} overlaps with default cpuset ${quoted(defaultCpus)}`;
      // Upstream does not check for it.
      if (!cpus.intersection(others).isEmpty)
        return `pod: ${uid}, container: ${name} cpuset: ${quoted(cpus)} overlaps with the cpuset of another pod`;
    }
    others = others.union(unionOf(containers));
  }
  return undefined;
}

function placeAgain(
  entries: CpuEntries,
  { all, reserved, take }: RecoveryRules,
): Pick<RecoveredCpus, 'defaultCpus' | 'entries' | 'moved'> {
  let free = all.difference(reserved);
  const placed = new Map<PodUid, ReadonlyMap<string, CpuSet>>();
  const misplaced: [PodUid, ReadonlyMap<string, CpuSet>][] = [];
  for (const [uid, containers] of sorted(entries)) {
    const cpus = unionOf(containers);
    const isKept = cpus.isSubsetOf(free) && [...containers.values()].every((set) => !set.isEmpty);
    if (isKept) {
      placed.set(uid, containers);
      free = free.difference(cpus);
    } else misplaced.push([uid, containers]);
  }
  const moved: MovedContainer[] = [];
  for (const [uid, containers] of misplaced) {
    const found = movePod(containers, free, take);
    if (found !== undefined) {
      placed.set(uid, found);
      free = free.difference(unionOf(found));
    }
    for (const [container, from] of sorted(containers)) {
      const to = found?.get(container);
      if (to === undefined || !to.equals(from)) moved.push({ uid, container, from, to });
    }
  }
  let exclusive = CpuSet.empty;
  for (const containers of placed.values()) exclusive = exclusive.union(unionOf(containers));
  return { entries: placed, defaultCpus: all.difference(exclusive), moved };
}

/**
 * Gives each container as many CPUs as it had. Containers that had CPUs in common (an init container and a later one) have as
 * many in common again. Undefined if too few are free.
 */
function movePod(
  containers: ReadonlyMap<string, CpuSet>,
  free: CpuSet,
  take: RecoveryRules['take'],
): ReadonlyMap<string, CpuSet> | undefined {
  const bySize = sorted(containers).toSorted(([, a], [, b]) => b.size - a.size);
  const found = new Map<string, CpuSet>();
  let left = free;
  try {
    for (const [name, from] of bySize) {
      let to = CpuSet.empty;
      for (const [sibling, siblingTo] of found) {
        const common = from.intersection(containers.get(sibling) ?? CpuSet.empty).size;
        const wanted = Math.min(common, from.size - to.size);
        to = to.union(take(siblingTo.difference(to), Math.min(wanted, siblingTo.difference(to).size)));
      }
      const own = take(left, from.size - to.size);
      left = left.difference(own);
      found.set(name, to.union(own));
    }
  } catch {
    return undefined;
  }
  return found;
}

function unionOf(containers: ReadonlyMap<string, CpuSet>): CpuSet {
  let all = CpuSet.empty;
  for (const cpus of containers.values()) all = all.union(cpus);
  return all;
}

function quoted(cpus: CpuSet): string {
  return goQuote(`${cpus}`);
}

function sorted<K extends string, V>(map: ReadonlyMap<K, V>): readonly (readonly [K, V])[] {
  return [...map].toSorted(([a], [b]) => (a < b ? -1 : 1));
}
