// Random admissions on machines with one to four NUMA nodes, as upstream's static policy (v1.37.0-rc.1) decided them: the hints of
// every pod and container, the outcome of every allocation, and the state after every step. Amounts are in MiB; a hint is the
// bit mask of NUMA node IDs, negative if it is not preferred.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { aContainer, aPod } from '../../../test/builders/builders.ts';
import type { Container, Pod } from '../../api/k8s/types.ts';
import { podUid } from '../../api/pod/pod-ref.ts';
import { Quantity } from '../../api/quantity/quantity.ts';
import { parseAmounts } from '../../api/quantity/resource-amounts.ts';
import { describeError } from '../../base/errors.ts';
import type { ResourceHints } from '../topology/hint-provider.ts';
import { NumaNodes } from '../topology/numa-nodes.ts';
import { type AssignedMemory, releaseContainer, releasePod } from './memory-blocks.ts';
import type { MemoryNodes } from './memory-hints.ts';
import { initialMachineState } from './memory-machine.ts';
import type { MemoryEntries } from './memory-state.ts';
import { assignMemory, containerMemoryHints, memoryToAssign, podMemoryHints } from './static-policy.ts';

type Amounts = Readonly<Record<string, number>>;

interface GoldenContainer {
  readonly n: string;
  /** An init container (i) or a sidecar (s). */
  readonly k?: 'i' | 's';
  readonly r: Amounts;
}

interface GoldenStep {
  readonly c: string;
  readonly h?: readonly number[];
  /** The merged hint: 0 for no nodes; whether it is preferred. */
  readonly u: readonly [number, number];
  readonly e?: string;
}

interface GoldenOp {
  readonly op: 'admit' | 'start' | 'remove';
  readonly pod: number;
  readonly containers?: readonly GoldenContainer[];
  readonly ph?: readonly number[];
  readonly steps?: readonly GoldenStep[];
  readonly s: readonly (readonly [number, readonly number[], Readonly<Record<string, readonly number[]>>])[];
  readonly b: Readonly<Record<string, Readonly<Record<string, readonly unknown[]>>>>;
}

interface GoldenCase {
  readonly nodes: readonly {
    readonly id: number;
    readonly memory: number;
    readonly huge?: Amounts;
    readonly reserved?: Amounts;
  }[];
  readonly ops: readonly GoldenOp[];
}

const MiB = 2 ** 20;
const goldens = readFileSync(new URL('golden/static-policy.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as GoldenCase);

/** Replays a case and compares every outcome. */
class Replay {
  readonly #nodes: MemoryNodes;
  readonly #pods = new Map<number, Pod>();
  #state: AssignedMemory;

  constructor({ nodes }: GoldenCase) {
    const numa = new NumaNodes(nodes);
    this.#nodes = { numa, masks: numa.subsets() };
    this.#state = { machineState: machineOf(nodes), entries: {} };
  }

  run({ containers, op, pod: number, ...golden }: GoldenOp): void {
    if (containers !== undefined) this.#pods.set(number, podOf(number, containers));
    const pod = this.#pods.get(number) ?? aPod();
    if (op === 'remove') this.#state = releasePod(this.#state, podUid(pod));
    else if (op === 'start') this.#start(pod);
    else this.#admit(pod, golden.ph, golden.steps ?? []);
    expect(this.#machine()).toEqual(golden.s);
    expect(blocksIn(this.#state.entries)).toEqual(golden.b);
  }

  #start(pod: Pod): void {
    for (const { name, restartPolicy } of pod.spec?.initContainers ?? [])
      if (restartPolicy === undefined) this.#state = releaseContainer(this.#state, podUid(pod), name);
  }

  #admit(pod: Pod, podHints: readonly number[] | undefined, steps: readonly GoldenStep[]): void {
    const { numa } = this.#nodes;
    expect(this.#dump(podMemoryHints(this.#nodes, this.#state, pod))).toEqual(podHints);
    const containers = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
    for (const [at, { c, e, h, u }] of steps.entries()) {
      const container = containers[at] ?? aContainer();
      expect(container.name).toBe(c);
      const requests = memoryToAssign(this.#state, pod, container);
      const hints = containerMemoryHints(this.#nodes, this.#state, pod, container, requests);
      expect(this.#dump(hints)).toEqual(h);
      const mask = u[0] === 0 ? undefined : numa.maskOf(idsIn(u[0]));
      const hint = { mask, preferred: u[1] === 1 };
      try {
        this.#state = assignMemory(this.#nodes, this.#state, pod, container, requests, hint);
        expect(e).toBeUndefined();
      } catch (err) {
        expect(describeError(err)).toBe(e);
        this.#state = releasePod(this.#state, podUid(pod));
      }
    }
  }

  #machine(): unknown {
    return this.#nodes.numa.ids.map((id) => {
      const { cells, memoryMap, numberOfAssignments } = this.#state.machineState[id] ?? {};
      const tables = Object.entries(memoryMap ?? {}).map(([type, { free, reserved }]) => [
        type,
        [reserved / MiB, free / MiB],
      ]);
      return [numberOfAssignments, cells, Object.fromEntries(tables)];
    });
  }

  #dump(hints: ResourceHints): readonly number[] | undefined {
    const [first = [], ...others] = hints.values();
    for (const other of others) expect(other).toEqual(first);
    if (hints.size === 0) return undefined;
    const bits = (ids: readonly number[]): number => ids.reduce((sum, id) => sum + 2 ** id, 0);
    return first
      .map(({ mask = 0, preferred }) => bits(this.#nodes.numa.idsOf(mask)) * (preferred ? 1 : -1))
      .toSorted((a, b) => Math.abs(a) - Math.abs(b));
  }
}

function idsIn(bits: number): readonly number[] {
  return Array.from({ length: 16 }, (_, id) => id).filter((id) => (bits & (1 << id)) !== 0);
}

function blocksIn(entries: MemoryEntries): unknown {
  const pods = Object.entries(entries).map(([uid, pod]) => [
    uid,
    Object.fromEntries(
      Object.entries(pod).map(([name, blocks]) => [
        name,
        blocks.map(({ numaAffinity, size, type }) => [numaAffinity, type, size / MiB]),
      ]),
    ),
  ]);
  return Object.fromEntries(pods);
}

function machineOf(nodes: GoldenCase['nodes']): AssignedMemory['machineState'] {
  const topology = nodes.map(({ huge = {}, id, memory }) => ({
    id,
    memoryBytes: BigInt(memory * MiB),
    hugePages: Object.entries(huge).map(([type, size]) => {
      const sizeBytes = Quantity.parse(type.replace('hugepages-', '')).value();
      return { sizeBytes, count: BigInt(size * MiB) / sizeBytes };
    }),
    distances: [],
    threads: [],
    caches: [],
  }));
  const reservations = nodes.map(({ id, reserved = {} }) => ({ numaNode: id, limits: quantities(reserved) }));
  const sum: Record<string, number> = {};
  for (const { reserved = {} } of nodes)
    for (const [type, size] of Object.entries(reserved)) sum[type] = (sum[type] ?? 0) + size;
  return initialMachineState({ nodes: topology }, parseAmounts(quantities(sum)), reservations);
}

function quantities(amounts: Amounts): Record<string, string> {
  return Object.fromEntries(Object.entries(amounts).map(([type, size]) => [type, `${size}Mi`]));
}

function podOf(number: number, containers: readonly GoldenContainer[]): Pod {
  const make = ({ k, n, r }: GoldenContainer): Container => {
    const amounts = { cpu: '1', ...quantities(r) };
    const resources = { requests: amounts, limits: amounts };
    return aContainer({ name: n, resources, ...(k === 's' ? { restartPolicy: 'Always' } : {}) });
  };
  return aPod({
    uid: `u${number}`,
    initContainers: containers.filter(({ k }) => k !== undefined).map(make),
    containers: containers.filter(({ k }) => k === undefined).map(make),
  });
}

test('decides as upstream over sequences of admissions, starts and removals', () => {
  expect(goldens.length).toBeGreaterThan(0);
  for (const golden of goldens) {
    const replay = new Replay(golden);
    for (const op of golden.ops) replay.run(op);
  }
});
