// Which CPUs each container has for itself, and which are shared. Upstream: pkg/kubelet/cm/cpumanager/state.
// Invariants: an exclusive CPU is not shared and belongs to one pod only (its containers may share it, since init containers
// have ended when others start); the shared and the exclusive CPUs together are always the same set.
import { asPodUid, type PodUid } from '../../api/pod/pod-ref.ts';
import { CpuSet } from './cpu-set.ts';
import type { CpuState } from './cpu-state.ts';

export type CpuEntries = ReadonlyMap<PodUid, ReadonlyMap<string, CpuSet>>;

export interface StoredCpus {
  readonly policyName: string;
  readonly defaultCpus: CpuSet;
  readonly entries: CpuEntries;
}

export class CpuAssignments {
  #default: CpuSet;
  readonly #entries = new Map<PodUid, Map<string, CpuSet>>();
  /** CPUs on which containers ran before their assignments were lost. Shared, but not given to another pod. */
  readonly #claims = new Map<PodUid, Map<string, CpuSet>>();

  constructor({ defaultCpus, entries }: Pick<StoredCpus, 'defaultCpus' | 'entries'>) {
    this.#default = defaultCpus;
    for (const [uid, containers] of entries) this.#entries.set(uid, new Map(containers));
  }

  /** The shared CPUs. */
  get defaultCpus(): CpuSet {
    return this.#default;
  }

  get entries(): CpuEntries {
    return this.#entries;
  }

  /** Pods with exclusive or claimed CPUs. */
  get pods(): readonly PodUid[] {
    return [...new Set([...this.#entries.keys(), ...this.#claims.keys()])];
  }

  get(uid: PodUid, container: string): CpuSet | undefined {
    return this.#entries.get(uid)?.get(container);
  }

  /** Own CPUs, else the shared ones. */
  cpusFor(uid: PodUid, container: string): CpuSet {
    return this.get(uid, container) ?? this.#default;
  }

  /** The exclusive CPUs of these containers of a pod; of all of them by default. */
  ofPod(uid: PodUid, includes: (container: string) => boolean = () => true): CpuSet {
    return unionOf(this.#entries.get(uid), includes);
  }

  exclusive(): CpuSet {
    let all = CpuSet.empty;
    for (const uid of this.#entries.keys()) all = all.union(this.ofPod(uid));
    return all;
  }

  assign(uid: PodUid, container: string, cpus: CpuSet): void {
    const containers = this.#entries.get(uid) ?? new Map<string, CpuSet>();
    this.#entries.set(uid, containers.set(container, cpus));
    this.#default = this.#default.difference(cpus);
  }

  /** Returns what is shared again. */
  release(uid: PodUid): CpuSet {
    this.dropClaims(uid);
    const freed = this.ofPod(uid);
    this.#entries.delete(uid);
    this.#default = this.#default.union(freed);
    return freed;
  }

  claim(uid: PodUid, container: string, cpus: CpuSet): void {
    const claims = this.#claims.get(uid) ?? new Map<string, CpuSet>();
    this.#claims.set(uid, claims.set(container, cpus));
  }

  claimOf(uid: PodUid, container: string): CpuSet | undefined {
    return this.#claims.get(uid)?.get(container);
  }

  dropClaims(uid: PodUid): void {
    this.#claims.delete(uid);
  }

  /** Claims of these containers of the pod; of all of them by default. */
  claimsOf(uid: PodUid, includes: (container: string) => boolean = () => true): CpuSet {
    return unionOf(this.#claims.get(uid), includes);
  }

  claimsOfOthers(uid: PodUid): CpuSet {
    let all = CpuSet.empty;
    for (const other of this.#claims.keys()) if (other !== uid) all = all.union(this.claimsOf(other));
    return all;
  }

  toState(policyName: string): CpuState {
    const entries = [...this.#entries].map(([uid, containers]) => [
      uid,
      Object.fromEntries([...containers].map(([name, cpus]) => [name, `${cpus}`])),
    ]);
    return { policyName, defaultCpuSet: `${this.#default}`, entries: Object.fromEntries(entries) };
  }
}

/** Throws `invalid` on a malformed set. */
export function parseCpuState(state: CpuState): StoredCpus {
  const entries = Object.entries(state.entries).map(([uid, containers]) => {
    const sets = Object.entries(containers).map(([name, cpus]) => [name, CpuSet.parse(cpus)] as const);
    return [asPodUid(uid), new Map(sets)] as const;
  });
  return {
    policyName: state.policyName,
    defaultCpus: CpuSet.parse(state.defaultCpuSet),
    entries: new Map(entries),
  };
}

function unionOf(
  sets: ReadonlyMap<string, CpuSet> | undefined,
  includes: (container: string) => boolean,
): CpuSet {
  let all = CpuSet.empty;
  for (const [name, cpus] of sets ?? []) if (includes(name)) all = all.union(cpus);
  return all;
}
