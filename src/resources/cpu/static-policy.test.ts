import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { aContainer, aPod } from '../../../test/builders/builders.ts';
import { aTopology } from '../../../test/builders/cpu-machine.ts';
import { type RecordedSequence, replaySequence } from '../../../test/builders/cpu-sequences.ts';
import type { Container, Pod } from '../../api/k8s/types.ts';
import { asPodUid } from '../../api/pod/pod-ref.ts';
import { Quantity } from '../../api/quantity/quantity.ts';
import { NumaNodes } from '../topology/numa-nodes.ts';
import { CpuAssignments } from './cpu-assignments.ts';
import { CpuSet } from './cpu-set.ts';
import { createStaticPolicy } from './create-static-policy.ts';
import type { StaticPolicy } from './static-policy.ts';

const golden = readFileSync(new URL('golden/static-policy-sequences.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as RecordedSequence);

test('decides as the Go kubelet of v1.37 on recorded sequences of admissions and removals', () => {
  const differences = golden.map((each, at) => [at, replaySequence(each)] as const);
  expect(differences.filter(([, difference]) => difference !== undefined)).toEqual([]);
  expect(golden).toHaveLength(100);
});

/** 8 CPUs, 2 threads per core (0 and 4, …), 2 NUMA nodes; CPUs 0 and 4 are reserved. */
function aPolicy(options: Record<string, string> = {}): { policy: StaticPolicy; state: CpuAssignments } {
  const topology = aTopology({ numaNodes: 2, coresPerNode: 2, threads: 2 });
  const numa = new NumaNodes([{ id: 0 }, { id: 1 }]);
  const reservation = { amount: Quantity.of(2), cpus: CpuSet.empty };
  const { policy } = createStaticPolicy({ numa, topology }, { options, reservation });
  return { policy, state: new CpuAssignments({ defaultCpus: policy.managed, entries: new Map() }) };
}

function aContainerOf(name: string, cpu: string, over: Partial<Container> = {}): Container {
  const list = { cpu, memory: '1Gi' };
  return aContainer({ name, resources: { requests: list, limits: list }, ...over });
}

function allocateAll(policy: StaticPolicy, state: CpuAssignments, pod: Pod): Record<string, string> {
  const all = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
  return Object.fromEntries(
    all.flatMap((each) => {
      const found = policy.allocate(state, pod, each, undefined);
      return found === undefined ? [] : [[each.name, `${found.cpus}`]];
    }),
  );
}

describe('StaticPolicy', () => {
  test('lets containers have the CPUs of the init containers before them', () => {
    const { policy, state } = aPolicy();
    const pod = aPod({
      initContainers: [
        aContainerOf('init', '4'),
        aContainerOf('sidecar', '2', { restartPolicy: 'Always' }),
        aContainerOf('init2', '2'),
      ],
      containers: [aContainerOf('app', '3'), aContainerOf('part', '500m')],
    });
    const got = allocateAll(policy, state, pod);
    expect(got).toEqual({ init: '2-3,6-7', sidecar: '1,5', init2: '2,6', app: '2-3,6' });
    expect(`${state.defaultCpus}`).toBe('0,4');
  });

  test('counts CPUs of init containers as free cores with full-pcpus-only', () => {
    const { policy, state } = aPolicy({ 'full-pcpus-only': 'true' });
    const pod = aPod({ initContainers: [aContainerOf('init', '6')], containers: [aContainerOf('app', '6')] });
    expect(allocateAll(policy, state, pod)).toEqual({ init: '1-3,5-7', app: '1-3,5-7' });
  });

  test.each([
    ['3', 'SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2'],
    [
      '8',
      'SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 6, requested CPUs = 8, CPUs per core = 2',
    ],
  ])('rejects %s CPUs with full-pcpus-only', (cpu, message) => {
    const { policy, state } = aPolicy({ 'full-pcpus-only': 'true' });
    const pod = aPod({ containers: [aContainerOf('app', cpu)] });
    expect(() => allocateAll(policy, state, pod)).toThrow(
      expect.objectContaining({ reason: 'SMTAlignmentError', message }),
    );
  });

  test('takes CPUs of the hinted NUMA node first, then those of other nodes', () => {
    const { policy, state } = aPolicy();
    const app = aContainerOf('app', '5');
    const found = policy.allocate(state, aPod({ containers: [app] }), app, 0b10);
    expect(`${found?.cpus}`).toBe('1-3,6-7');
  });

  test('adopts the CPUs on which a container ran, and gives them to no other pod before', () => {
    const { policy, state } = aPolicy();
    state.claim(asPodUid('old'), 'app', CpuSet.parse('2,6'));
    const other = aPod({ uid: 'new', containers: [aContainerOf('app', '4')] });
    expect(allocateAll(policy, state, other)).toEqual({ app: '1,3,5,7' });
    const old = aPod({
      uid: 'old',
      initContainers: [aContainerOf('init', '1')],
      containers: [aContainerOf('app', '2')],
    });
    expect(allocateAll(policy, state, old)).toEqual({ init: '2', app: '2,6' });
    expect(`${state.defaultCpus}`).toBe('0,4');
  });

  test('does not adopt CPUs of another number than requested', () => {
    const { policy, state } = aPolicy();
    state.claim(asPodUid('old'), 'app', CpuSet.parse('2,6'));
    const old = aPod({ uid: 'old', containers: [aContainerOf('app', '1')] });
    const found = policy.allocate(state, old, old.spec?.containers[0] as Container, undefined);
    expect([found?.how, found?.cpus.size]).toEqual(['new', 1]);
  });

  test('an allocation of another size than the request has no possible placement', () => {
    const { policy, state } = aPolicy();
    const app = aContainerOf('app', '2');
    const pod = aPod({ containers: [app] });
    state.assign(asPodUid('uid-p'), 'app', CpuSet.parse('1'));
    expect([...policy.containerHints(state, pod, app)]).toEqual([['cpu', []]]);
    expect([...policy.podHints(state, pod)]).toEqual([['cpu', []]]);
  });
});
