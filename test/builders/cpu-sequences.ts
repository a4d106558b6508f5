// Replays sequences of admissions and removals, as the Go kubelet's static policy decided them, on the static policy.
import type { Container, Pod } from '../../src/api/k8s/types.ts';
import { asPodUid } from '../../src/api/pod/pod-ref.ts';
import { Quantity } from '../../src/api/quantity/quantity.ts';
import { describeError, type KubeletError } from '../../src/base/errors.ts';
import { CpuAssignments } from '../../src/resources/cpu/cpu-assignments.ts';
import { CpuSet } from '../../src/resources/cpu/cpu-set.ts';
import { type CpuPlace, CpuTopology } from '../../src/resources/cpu/cpu-topology.ts';
import { createStaticPolicy } from '../../src/resources/cpu/create-static-policy.ts';
import type { StaticPolicy } from '../../src/resources/cpu/static-policy.ts';
import type { ResourceHints } from '../../src/resources/topology/hint-provider.ts';
import { NumaNodes } from '../../src/resources/topology/numa-nodes.ts';
import { aContainer, aPod } from './builders.ts';

interface RecordedHints {
  readonly l: readonly (readonly [readonly number[], boolean])[];
}

interface RecordedContainer {
  readonly n: string;
  /** i: init container, s: sidecar, c: regular container. */
  readonly k: 'i' | 's' | 'c';
  readonly cpu: string;
  readonly lim?: string;
  /** NUMA nodes of the hint. */
  readonly mask?: readonly number[];
  readonly hints?: RecordedHints;
  readonly got?: string;
  readonly err?: string;
  readonly typ?: string;
}

interface RecordedStep {
  readonly add?: string;
  /** Whether the pod has pod-level resources. */
  readonly plr?: boolean;
  readonly cs?: readonly RecordedContainer[];
  readonly podHints?: RecordedHints;
  readonly remove?: string;
  readonly default: string;
}

export interface RecordedSequence {
  /** CPU, NUMA node, socket, core, uncore cache. */
  readonly topo: readonly (readonly [number, number, number, number, number])[];
  /** CPUs, cores, sockets. */
  readonly counts: readonly [number, number, number];
  readonly options: Readonly<Record<string, string>>;
  readonly reserved: string;
  readonly numRes: number;
  readonly given: boolean;
  readonly startErr?: string;
  readonly ops: readonly RecordedStep[];
}

function topologyOf({ counts, topo }: Pick<RecordedSequence, 'counts' | 'topo'>): CpuTopology {
  const places = topo.map(([cpu, numaNode, socket, core, uncoreCache]): [number, CpuPlace] => [
    cpu,
    { numaNode, socket, core, uncoreCache },
  ]);
  const [numCpus, numCores, numSockets] = counts;
  return new CpuTopology(new Map(places), { numCpus, numCores, numSockets });
}

/** The first difference; undefined if all decisions are equal. */
export function replaySequence(recorded: RecordedSequence): string | undefined {
  const topology = topologyOf(recorded);
  const numa = new NumaNodes(topology.numaNodes.map((id) => ({ id })));
  let policy: StaticPolicy;
  try {
    const given = recorded.given ? CpuSet.parse(recorded.reserved) : CpuSet.empty;
    const reservation = { amount: Quantity.of(recorded.numRes), cpus: given };
    const created = createStaticPolicy({ numa, topology }, { options: recorded.options, reservation });
    if (`${created.reserved}` !== recorded.reserved)
      return `reserved ${created.reserved} instead of ${recorded.reserved}`;
    policy = created.policy;
  } catch (err) {
    const text = describeError(err);
    return text.endsWith(recorded.startErr ?? '-') ? undefined : `start: ${text}`;
  }
  if (recorded.startErr !== undefined) return `started, instead of: ${recorded.startErr}`;
  const state = new CpuAssignments({ defaultCpus: policy.managed, entries: new Map() });
  for (const [at, step] of recorded.ops.entries()) {
    const difference = replayStep(policy, state, numa, step);
    if (difference === 'fits by reuse') return undefined;
    if (difference !== undefined) return `step ${at}: ${difference}`;
    if (`${state.defaultCpus}` !== step.default)
      return `step ${at}: default set ${state.defaultCpus} instead of ${step.default}`;
  }
  return undefined;
}

function replayStep(
  policy: StaticPolicy,
  state: CpuAssignments,
  numa: NumaNodes,
  { add, cs = [], plr, podHints, remove }: RecordedStep,
): string | undefined {
  const uid = asPodUid(add ?? remove ?? '');
  if (add === undefined) {
    state.release(uid);
    policy.forget(uid);
    return undefined;
  }
  const pod = podOf(add, cs, plr === true);
  const hints = hintText(policy.podHints(state, pod), numa);
  if (hints !== recordedText(podHints)) return `pod hints ${hints} instead of ${recordedText(podHints)}`;
  for (const recorded of cs) {
    const difference = replayContainer(policy, state, numa, pod, recorded);
    if (difference !== undefined) return difference;
    if (recorded.err === undefined) continue;
    state.release(uid);
    policy.forget(uid);
    return undefined;
  }
  return undefined;
}

function replayContainer(
  policy: StaticPolicy,
  state: CpuAssignments,
  numa: NumaNodes,
  pod: Pod,
  recorded: RecordedContainer,
): string | undefined {
  const { err, got, hints, mask, n, typ } = recorded;
  const containers = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
  const container = containers.find(({ name }) => name === n) as Container;
  const seen = hintText(policy.containerHints(state, pod, container), numa);
  if (seen !== recordedText(hints)) return `${n}: hints ${seen} instead of ${recordedText(hints)}`;
  try {
    const allocation = policy.allocate(state, pod, container, mask && numa.maskOf(mask));
    // The one intended difference: upstream does not count CPUs of init containers as free cores.
    if (err?.includes('not enough free physical CPUs') === true) return 'fits by reuse';
    const cpus = allocation === undefined ? undefined : `${allocation.cpus}`;
    return cpus === got && err === undefined ? undefined : `${n}: ${cpus} instead of ${got ?? err}`;
  } catch (thrown) {
    const { message, reason } = thrown as KubeletError;
    const withoutFree = (text = ''): string => text.replace(/available physical CPUs = \d+/, '');
    const isSame =
      withoutFree(message) === withoutFree(err) && reason === (typ ?? 'UnexpectedAdmissionError');
    return isSame ? undefined : `${n}: ${reason} ${message} instead of ${err ?? got}`;
  }
}

function podOf(uid: string, cs: readonly RecordedContainer[], hasPodLevel: boolean): Pod {
  const all = cs.map(({ cpu, k, lim, n }) => ({
    k,
    container: aContainer({
      name: n,
      ...(k === 's' && { restartPolicy: 'Always' as const }),
      resources: { requests: { cpu, memory: '1G' }, limits: { cpu: lim ?? cpu, memory: '1G' } },
    }),
  }));
  const list = { cpu: '64', memory: '64G' };
  return aPod({
    uid,
    initContainers: all.filter(({ k }) => k !== 'c').map(({ container }) => container),
    containers: all.filter(({ k }) => k === 'c').map(({ container }) => container),
    ...(hasPodLevel && { resources: { requests: list, limits: list } }),
  });
}

function hintText(hints: ResourceHints, numa: NumaNodes): string {
  const list = hints.get('cpu');
  if (list === undefined) return 'none';
  return sortedText(list.map(({ mask, preferred }) => [numa.idsOf(mask ?? 0), preferred]));
}

function recordedText(hints: RecordedHints | undefined): string {
  return hints === undefined ? 'none' : sortedText(hints.l);
}

/** The order of hints does not matter. */
function sortedText(hints: RecordedHints['l']): string {
  return hints
    .map((each) => JSON.stringify(each))
    .toSorted()
    .join(' ');
}
