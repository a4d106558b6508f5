// The static policy: gives CPUs to the containers of Guaranteed pods that request whole CPUs. Holds no state except the CPUs that
// the pod in admission may reuse from its init containers. Upstream: pkg/kubelet/cm/cpumanager/policy_static.go.
// Invariant: reserved CPUs are never exclusive; a container keeps what it has.
import type { Container, Pod } from '../../api/k8s/types.ts';
import { initAndRegularContainers } from '../../api/pod/find-container.ts';
import { type PodUid, podUid } from '../../api/pod/pod-ref.ts';
import { isSidecar } from '../../api/pod/restart-policy.ts';
import { KubeletError } from '../../base/errors.ts';
import type { ResourceHints, TopologyHint } from '../topology/hint-provider.ts';
import type { NumaMask, NumaNodes } from '../topology/numa-nodes.ts';
import type { CpuAssignments } from './cpu-assignments.ts';
import { computeCpuHints } from './cpu-hints.ts';
import type { CpuOptions } from './cpu-options.ts';
import { CpuSet } from './cpu-set.ts';
import type { CpuTopology } from './cpu-topology.ts';
import { exclusiveCpuCount, exclusivePodCpuCount } from './exclusive-cpu-count.ts';
import { type CpuStrategy, takeCpus } from './take-cpus.ts';

interface StaticPolicyConfig {
  readonly topology: CpuTopology;
  readonly numa: NumaNodes;
  readonly options: CpuOptions;
  readonly strategy: CpuStrategy;
  readonly reserved: CpuSet;
}

interface CpuAllocation {
  readonly cpus: CpuSet;
  /** kept: the container had them; adopted: it ran on them, but the assignment was lost. */
  readonly how: 'new' | 'kept' | 'adopted';
}

const noPreference: ReadonlyMap<string, readonly TopologyHint[]> = new Map();
const nowhere: ReadonlyMap<string, readonly TopologyHint[]> = new Map([['cpu', []]]);

export class StaticPolicy {
  readonly #config: StaticPolicyConfig;
  /** All threads of the cores that have reserved CPUs. */
  readonly #reservedCores: CpuSet;
  /** CPUs of the init containers of the pod in admission that its later containers may have. */
  #reuse: { readonly uid: PodUid; readonly cpus: CpuSet } | undefined;

  constructor(config: StaticPolicyConfig) {
    const { reserved, topology } = config;
    this.#config = config;
    this.#reservedCores = topology.cpusInCores(topology.coresOf(reserved));
  }

  /** The CPUs of the machine that may be exclusive. */
  get allocatable(): CpuSet {
    const { reserved, topology } = this.#config;
    return topology.cpus.difference(reserved);
  }

  /** The CPUs that this policy manages: shared unless a container owns them. */
  get managed(): CpuSet {
    const { options, topology } = this.#config;
    return options.strictReservation ? this.allocatable : topology.cpus;
  }

  take(available: CpuSet, count: number): CpuSet {
    const { strategy, topology } = this.#config;
    return takeCpus(topology, available, count, strategy);
  }

  containerHints(state: CpuAssignments, pod: Pod, container: Container): ResourceHints {
    const uid = podUid(pod);
    const count = exclusiveCpuCount(pod, container);
    if (count === 0) return noPreference;
    const known = state.get(uid, container.name);
    if (known !== undefined) return known.size === count ? this.#hints(count, known) : nowhere;
    const claim = this.#adoptable(state, pod, container, count);
    if (claim !== undefined) return this.#hints(count, claim);
    return this.#hints(count, this.#available(state, pod, container), this.#reusable(state, pod));
  }

  podHints(state: CpuAssignments, pod: Pod): ResourceHints {
    const uid = podUid(pod);
    const count = exclusivePodCpuCount(pod);
    if (count === 0) return noPreference;
    for (const container of initAndRegularContainers(pod)) {
      const known = state.get(uid, container.name);
      if (known !== undefined && known.size !== exclusiveCpuCount(pod, container)) return nowhere;
    }
    const assigned = state.ofPod(uid);
    const held = assigned.union(state.claimsOf(uid));
    if (held.size === count) return this.#hints(count, held);
    const available = state.defaultCpus
      .difference(this.#config.reserved)
      .difference(state.claimsOfOthers(uid));
    return this.#hints(count, available, this.#reusable(state, pod).union(assigned));
  }

  #hints(request: number, available: CpuSet, reusable = CpuSet.empty): ResourceHints {
    const { numa, options, topology } = this.#config;
    const hints: readonly TopologyHint[] = computeCpuHints({
      topology,
      numa,
      request,
      available,
      reusable,
      options,
    });
    return new Map([['cpu', hints]]);
  }

  /** Undefined if the container uses the shared CPUs. Throws if it cannot have the CPUs it is promised. */
  allocate(
    state: CpuAssignments,
    pod: Pod,
    container: Container,
    mask: NumaMask | undefined,
  ): CpuAllocation | undefined {
    const count = exclusiveCpuCount(pod, container);
    if (count === 0) return undefined;
    const uid = podUid(pod);
    const known = state.get(uid, container.name);
    const allocation: CpuAllocation =
      known === undefined ? this.#choose(state, pod, container, count, mask) : { cpus: known, how: 'kept' };
    if (known === undefined) state.assign(uid, container.name, allocation.cpus);
    this.#updateReuse(pod, container, allocation.cpus);
    return allocation;
  }

  /** The pod holds nothing any longer. */
  forget(uid: PodUid): void {
    if (this.#reuse?.uid === uid) this.#reuse = undefined;
  }

  #choose(
    state: CpuAssignments,
    pod: Pod,
    container: Container,
    count: number,
    mask: NumaMask | undefined,
  ): CpuAllocation {
    const uid = podUid(pod);
    const available = this.#available(state, pod, container);
    const candidates = available.union(this.#reusable(state, pod));
    const claim = this.#adoptable(state, pod, container, count);
    if (claim !== undefined) return { cpus: claim, how: 'adopted' };
    this.#checkCores(candidates, count);
    // An init container prefers the CPUs of the containers after it, so that the pod occupies no more than it needs.
    const preferred = isPlainInit(pod, container) ? state.claimsOf(uid) : CpuSet.empty;
    const first = preferred.intersection(candidates);
    const own = first.isEmpty ? first : this.take(first, Math.min(count, first.size));
    return { cpus: own.union(this.#take(candidates.difference(own), count - own.size, mask)), how: 'new' };
  }

  /** The CPUs on which the container ran before its assignment was lost. */
  #adoptable(state: CpuAssignments, pod: Pod, container: Container, count: number): CpuSet | undefined {
    const claim = state.claimOf(podUid(pod), container.name);
    const free = this.#available(state, pod, container).union(this.#reusable(state, pod));
    return claim?.size === count && claim.isSubsetOf(free) ? claim : undefined;
  }

  /** Those on the NUMA nodes of the hint first. */
  #take(candidates: CpuSet, count: number, mask: NumaMask | undefined): CpuSet {
    let taken = CpuSet.empty;
    if (mask !== undefined) {
      const aligned = candidates.intersection(this.#alignedCpus(mask));
      taken = this.take(aligned, Math.min(count, aligned.size));
    }
    return taken.union(this.take(candidates.difference(taken), count - taken.size));
  }

  /** With align-by-socket, all CPUs of the sockets. */
  #alignedCpus(mask: NumaMask): CpuSet {
    const { numa, options, topology } = this.#config;
    const nodes = numa.idsOf(mask);
    if (options.alignBySocket) return topology.cpusInSockets(topology.socketsInNumaNodes(nodes));
    return topology.cpusInNumaNodes(nodes);
  }

  #available(state: CpuAssignments, pod: Pod, container: Container): CpuSet {
    const uid = podUid(pod);
    const isOther = (name: string): boolean => name !== container.name;
    const siblings = isPlainInit(pod, container) ? CpuSet.empty : state.claimsOf(uid, isOther);
    const claimed = state.claimsOfOthers(uid).union(siblings);
    return state.defaultCpus.difference(this.#config.reserved).difference(claimed);
  }

  /** After a restart, sidecars and regular containers may already have CPUs of the init containers before them. */
  #reusable(state: CpuAssignments, pod: Pod): CpuSet {
    const uid = podUid(pod);
    if (this.#reuse?.uid !== uid) return CpuSet.empty;
    const init = new Set(
      (pod.spec?.initContainers ?? []).filter((each) => !isSidecar(each)).map(({ name }) => name),
    );
    return this.#reuse.cpus.difference(state.ofPod(uid, (name) => !init.has(name)));
  }

  #updateReuse(pod: Pod, container: Container, cpus: CpuSet): void {
    const uid = podUid(pod);
    const before = this.#reuse?.uid === uid ? this.#reuse.cpus : CpuSet.empty;
    this.#reuse = { uid, cpus: isPlainInit(pod, container) ? before.union(cpus) : before.difference(cpus) };
  }

  /**
   * full-pcpus-only: no two containers share a core.
   * differs from upstream: CPUs that the pod may reuse from its init containers count too, else a pod that fits is rejected.
   */
  #checkCores(candidates: CpuSet, count: number): void {
    const { options, topology } = this.#config;
    if (!options.fullPcpusOnly) return;
    const perCore = topology.cpusPerCore;
    if (count % perCore !== 0)
      throw smtError(`requested ${count} cpus not multiple cpus per core = ${perCore}`);
    const free = candidates.difference(this.#reservedCores).size;
    if (count > free)
      throw smtError(
        `not enough free physical CPUs: available physical CPUs = ${free}, requested CPUs = ${count}, CPUs per core = ${perCore}`,
      );
  }
}

function smtError(what: string): KubeletError {
  return new KubeletError('conflict', 'SMTAlignmentError', `SMT Alignment Error: ${what}`);
}

/** Whether it has ended when the containers after it start. */
function isPlainInit({ spec }: Pod, { name }: Container): boolean {
  return (spec?.initContainers ?? []).some((each) => each.name === name && !isSidecar(each));
}
