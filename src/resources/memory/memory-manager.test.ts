import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { aContainer, aPod } from '../../../test/builders/builders.ts';
import {
  aGuaranteedContainer,
  aGuaranteedPod,
  aNumaMachine,
  GiB,
  MemoryManagerKit,
} from '../../../test/builders/memory-manager.ts';
import type { Container, Pod } from '../../api/k8s/types.ts';
import { initAndRegularContainers } from '../../api/pod/find-container.ts';
import { asContainerId, asPodUid, podRef, podUid } from '../../api/pod/pod-ref.ts';
import type { TopologyHint } from '../topology/hint-provider.ts';
import type { MemoryManager } from './memory-manager.ts';
import type { RunningContainer } from './running-memory.ts';

const anyNodes: TopologyHint = { mask: undefined, preferred: false };

function admit(manager: MemoryManager, pod: Pod, hint: TopologyHint = anyNodes): void {
  for (const container of initAndRegularContainers(pod)) manager.allocate(pod, container, hint);
}

function runningOf(pod: Pod, container: string, memoryLimitBytes?: number): RunningContainer {
  const id = asContainerId(`${pod.metadata?.name ?? ''}-${container}`);
  return { uid: podUid(pod), pod: podRef(pod), container, id, memoryLimitBytes };
}

const [a, b] = [aGuaranteedPod('a', '5Gi'), aGuaranteedPod('b', '6Gi')];
const [uidA, uidB] = [podUid(a), podUid(b)];

describe('with the policy Static', () => {
  test('binds containers to NUMA nodes, and reports what they have', async () => {
    const manager = await new MemoryManagerKit().start();
    admit(manager, a);
    admit(manager, b);
    expect(manager.memoryNodes(uidA, 'c0')).toBe('0');
    expect(manager.blocks(uidB, 'c0')).toEqual([{ numaAffinity: [1], type: 'memory', size: 6 * GiB }]);
    expect([...manager.holders()]).toEqual([uidA, uidB]);
    expect(manager.allocatable()).toEqual([
      { numaAffinity: [0], type: 'memory', size: 7 * GiB },
      { numaAffinity: [1], type: 'memory', size: 8 * GiB },
    ]);
    manager.release(uidA);
    expect(manager.memoryNodes(uidA, 'c0')).toBeUndefined();
    expect([...manager.holders()]).toEqual([uidB]);
  });

  test('lists the NUMA nodes of a group in ascending order', async () => {
    const manager = await new MemoryManagerKit().start();
    admit(manager, aGuaranteedPod('wide', '12Gi'));
    expect(manager.memoryNodes(asPodUid('uid-wide'), 'c0')).toBe('0,1');
  });

  test('gives other pods nothing of their own, nor pods with pod-level resources', async () => {
    const manager = await new MemoryManagerKit().start();
    const resources = { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1', memory: '1Gi' } };
    for (const pod of [aPod(), { ...a, spec: { ...a.spec, resources } } as Pod]) {
      admit(manager, pod);
      expect(manager.podHints(pod).size + manager.containerHints(pod, aContainer()).size).toBe(0);
    }
    expect([...manager.holders()]).toEqual([]);
  });

  test('rejects what does not fit as upstream does: by the allocation, with no hint before', async () => {
    const kit = new MemoryManagerKit();
    const manager = await kit.start();
    const pod = aGuaranteedPod('big', '20Gi');
    expect(manager.podHints(pod).size).toBe(0);
    expect(() => admit(manager, pod)).toThrow(
      '[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available',
    );
    const text = kit.metrics.render();
    expect(text).toContain('kubelet_memory_manager_pinning_requests_total 1\n');
    expect(text).toContain('kubelet_memory_manager_pinning_errors_total 1\n');
  });

  const odd = [
    ['a size of huge pages that the machine lacks', { 'hugepages-1Gi': '1Gi' }, 'no NUMA nodes with enough'],
    ['a fraction of a byte', { memory: '1500m' }, 'failed to represent quantity as int64'],
    ['more than 64 bits hold', { memory: '1000Ei' }, 'no NUMA nodes with enough'],
  ] as const;
  for (const [name, over, message] of odd)
    test(`gives no hint for ${name}, and rejects the pod`, async () => {
      const manager = await new MemoryManagerKit().start();
      const amounts = { cpu: '1', memory: '1Gi', ...over };
      const container = aContainer({ name: 'c', resources: { requests: amounts, limits: amounts } });
      const pod = aPod({ containers: [container] });
      expect(manager.containerHints(pod, container).size + manager.podHints(pod).size).toBe(0);
      expect(() => admit(manager, pod)).toThrow(message);
    });

  test('zero huge pages of a size that the machine lacks are no request', async () => {
    const manager = await new MemoryManagerKit().start();
    const amounts = { cpu: '1', memory: '1Gi', 'hugepages-1Gi': '0' };
    const pod = aPod({ containers: [aContainer({ resources: { requests: amounts, limits: amounts } })] });
    admit(manager, pod);
    expect(manager.blocks(podUid(pod), 'c').map(({ type }) => type)).toEqual(['memory']);
  });

  test('returns the memory of an init container when a later container starts', async () => {
    const kit = new MemoryManagerKit();
    const manager = await kit.start();
    const sidecar = aGuaranteedContainer('s', '1Gi', { restartPolicy: 'Always' });
    const pod = aPod({
      initContainers: [aGuaranteedContainer('i', '6Gi'), sidecar],
      containers: [aGuaranteedContainer('c', '2Gi')],
    });
    admit(manager, pod);
    expect(() => admit(manager, aGuaranteedPod('b', '4Gi', '5Gi'))).toThrow();
    manager.release(asPodUid('uid-b'));
    manager.started(pod, 'i');
    expect(manager.blocks(podUid(pod), 'i')).not.toEqual([]);
    manager.started(pod, 'c');
    expect(['i', 's', 'c'].map((name) => manager.memoryNodes(podUid(pod), name))).toEqual([
      undefined,
      '0',
      '0',
    ]);
    admit(manager, aGuaranteedPod('b', '4Gi', '5Gi'));
    // After a restart of the kubelet the pod is admitted again: the init container has ended and gets nothing.
    await manager.saved();
    const next = await kit.start();
    admit(next, pod);
    expect(next.blocks(podUid(pod), 'i')).toEqual([]);
    expect(next.memoryNodes(podUid(pod), 'c')).toBe('0');
  });

  const wrong = [
    [{ policy: 'BestEffort' }, 'policy "BestEffort" is not available for platform "linux"'],
    [{ policy: 'static' }, 'unknown policy: "static"'],
    [{ reserved: '0' }, '[memorymanager] you should specify the system reserved memory'],
    [
      { machine: aNumaMachine(Array.from({ length: 17 }, () => 1)) },
      'unsupported on machines with more than 16',
    ],
  ] as const;
  for (const [over, message] of wrong)
    test(`a wrong configuration stops the kubelet: ${message}`, async () => {
      const kit = new MemoryManagerKit();
      await expect(kit.start(over)).rejects.toThrow(message);
      expect(kit.files.size).toBe(0);
    });
});

describe('writes the file that the Go kubelet writes after the same admissions', () => {
  const goldens = JSON.parse(readFileSync(new URL('golden/state-files.json', import.meta.url), 'utf8')) as {
    readonly none: string;
    readonly empty: string;
    readonly v3: string;
  };

  test('with None, which assigns nothing', async () => {
    const kit = new MemoryManagerKit();
    const manager = await kit.start({ policy: 'None' });
    expect(kit.file).toBe(goldens.none);
    admit(manager, a);
    expect([manager.memoryNodes(uidA, 'c0'), manager.allocatable(), [...manager.holders()]]).toEqual([
      undefined,
      [],
      [],
    ]);
  });

  test('with Static on two NUMA nodes with huge pages', async () => {
    const kit = new MemoryManagerKit();
    const hugePages = [
      { sizeBytes: 2n ** 21n, count: 512n },
      { sizeBytes: 2n ** 30n, count: 2n },
    ];
    const { nodes, ...machine } = aNumaMachine([16, 16]);
    const manager = await kit.start({
      machine: { ...machine, nodes: nodes.map((node) => ({ ...node, hugePages })) },
      reservedMemory: [
        { numaNode: 0, limits: { memory: '512Mi', 'hugepages-2Mi': '2Mi' } },
        { numaNode: 1, limits: { memory: '256Mi' } },
      ],
    });
    expect(kit.file).toBe(goldens.empty);
    const huge = (name: string, amounts: Record<string, string>): Container => {
      const all = { cpu: '1', ...amounts };
      return aContainer({ name, resources: { requests: all, limits: all } });
    };
    const pods = [
      aPod({
        uid: 'u0',
        initContainers: [
          aGuaranteedContainer('init', '2Gi'),
          aGuaranteedContainer('proxy', '256Mi', { restartPolicy: 'Always' }),
        ],
        containers: [huge('app', { memory: '1Gi', 'hugepages-2Mi': '64Mi' })],
      }),
      aPod({
        uid: 'u1',
        containers: [huge('db', { memory: '4Gi', 'hugepages-1Gi': '1Gi', 'hugepages-2Mi': '128Mi' })],
      }),
      aPod({
        uid: 'u2',
        containers: [
          aGuaranteedContainer('a', '512Mi'),
          huge('constructor', { memory: '100Mi', 'hugepages-2Mi': '10Mi' }),
        ],
      }),
    ];
    for (const [at, pod] of pods.entries()) admit(manager, pod, { mask: 1 << (at % 2), preferred: true });
    await manager.saved();
    expect(kit.file).toBe(goldens.v3);
  });
});

describe('always starts', () => {
  async function withPods(): Promise<MemoryManagerKit> {
    const kit = new MemoryManagerKit();
    const manager = await kit.start();
    admit(manager, a);
    admit(manager, b);
    await manager.saved();
    expect(kit.events).toEqual([]);
    return kit;
  }
  const bound = { running: [runningOf(a, 'c0'), runningOf(b, 'c0')], mems: { 'a-c0': '0', 'b-c0': '1' } };
  const nodesOf = (manager: MemoryManager): readonly unknown[] => [
    manager.memoryNodes(uidA, 'c0'),
    manager.memoryNodes(uidB, 'c0'),
  ];

  test('uses the file of an earlier kubelet without a word', async () => {
    const kit = await withPods();
    const before = kit.file;
    expect(nodesOf(await kit.start())).toEqual(['0', '1']);
    expect([kit.file, kit.events, kit.logs]).toEqual([before, [], []]);
  });

  const damaged = [
    ['truncated', (text: string) => text.slice(0, -40), 'it is not JSON'],
    ['empty', () => '', 'it is empty'],
    ['changed', (text: string) => text.replaceAll('Static', 'Statik'), 'could not load v3 checkpoint'],
    ['foreign', () => '{"kind":"Pod"}', 'checkpoint is corrupted'],
  ] as const;
  for (const [name, damage, why] of damaged) {
    test(`uses the predecessor of a file that is ${name}`, async () => {
      const kit = await withPods();
      kit.files.set(MemoryManagerKit.path, damage(kit.file ?? ''));
      const manager = await kit.start(bound);
      admit(manager, a);
      admit(manager, b);
      expect(nodesOf(manager)).toEqual(['0', '1']);
      expect(kit.logs).toEqual(['Recovered the state of the memory manager']);
      expect(kit.events).toHaveLength(1);
      expect(kit.events[0]).toMatchObject({ type: 'Warning', reason: 'ManagerStateRecovered' });
      expect(kit.events[0]?.message).toContain(`/root/memory_manager_state: ${why}`);
      expect(kit.events[0]?.message).toContain(
        'The damaged file is now /root/.memory_manager_state.damaged; its predecessor was used.',
      );
    });

    test(`rebuilds the state from running containers if the predecessor is ${name} too`, async () => {
      const kit = await withPods();
      const text = damage(kit.file ?? '');
      kit.files.set(MemoryManagerKit.path, text).set('/root/.memory_manager_state.previous', text);
      const manager = await kit.start(bound);
      // Another pod may be admitted first, but a running one is never rejected.
      admit(manager, b);
      admit(manager, a);
      expect(nodesOf(manager)).toEqual(['0', '1']);
      expect(kit.files.get('/root/.memory_manager_state.damaged')).toBe(text);
      expect(kit.events).toHaveLength(1);
    });
  }

  test('reserves what the runtime reports before the pods are admitted again', async () => {
    const kit = new MemoryManagerKit();
    const running = [runningOf(a, 'c0', 5 * GiB), runningOf(b, 'c0', 6 * GiB)];
    const manager = await kit.start({ ...bound, running });
    expect(nodesOf(manager)).toEqual(['0', '1']);
    expect(kit.events[0]?.message).toContain('the file is missing');
    expect(() => admit(manager, aGuaranteedPod('new', '3Gi'))).toThrow();
    admit(manager, a);
    expect(manager.blocks(uidA, 'c0')).toEqual([{ numaAffinity: [0], type: 'memory', size: 5 * GiB }]);
  });

  test('applies Static to new pods only, and names the running ones', async () => {
    const kit = new MemoryManagerKit();
    await kit.start({ policy: 'None' });
    const big = aGuaranteedPod('big', '20Gi');
    const manager = await kit.start({ running: [runningOf(a, 'c0'), runningOf(big, 'c0')] });
    expect(kit.events.map(({ message }) => message)).toEqual([
      'Recovered the state of the memory manager, /root/memory_manager_state: configured policy "Static" differs from state checkpoint policy "None". Running containers keep their NUMA nodes; the policy applies after their restart to pods: default/a, default/big.',
    ]);
    admit(manager, a);
    admit(manager, big);
    expect(manager.memoryNodes(podUid(big), 'c0')).toBeUndefined();
    expect(manager.memoryNodes(uidA, 'c0')).toBe('0');
    expect(manager.podHints(big).size).toBe(0);
  });

  test('changes the policy silently if no container is concerned', async () => {
    const kit = new MemoryManagerKit();
    for (const policy of ['None', 'Static', 'None']) await kit.start({ policy });
    expect(kit.events).toEqual([]);
    expect(kit.file).toContain('"policyName":"None"');
  });

  test('returns to None, and names the pods that stay bound', async () => {
    const kit = await withPods();
    const manager = await kit.start({ ...bound, policy: 'None' });
    expect(nodesOf(manager)).toEqual([undefined, undefined]);
    expect(kit.events.map(({ message }) => message)).toEqual([
      expect.stringContaining('the policy applies after their restart to pods: default/a, default/b.'),
    ]);
  });

  test('keeps the assignments that a changed machine still allows, and names the others', async () => {
    const kit = await withPods();
    const manager = await kit.start({ ...bound, machine: aNumaMachine([8]) });
    admit(manager, a);
    admit(manager, b);
    expect(nodesOf(manager)).toEqual(['0', undefined]);
    expect(kit.events.map(({ message }) => message)).toEqual([
      'Recovered the state of the memory manager, /root/memory_manager_state: the memory of the machine or its reservation has changed. Assignments that are no longer possible were dropped, of pods: default/b.',
    ]);
  });

  test('accounts for a running container where it really is', async () => {
    const kit = await withPods();
    const manager = await kit.start({ ...bound, reserved: '512Mi', mems: { 'a-c0': '0', 'b-c0': '0-1' } });
    expect(nodesOf(manager)).toEqual(['0', '0,1']);
    expect(kit.events).toHaveLength(1);
  });

  test('starts although neither the runtime nor the disk answers; containers wait for the file', async () => {
    const kit = new MemoryManagerKit();
    kit.files.set(MemoryManagerKit.path, 'x');
    const manager = await kit.start({ isBroken: true });
    expect(kit.events).toHaveLength(1);
    expect(kit.logs).toContain('Failed to list running containers for the memory manager');
    expect(kit.logs).toContain('Failed to write the state of the memory manager');
    await expect(manager.saved()).rejects.toThrow('out of order');
  });

  test('a container whose cpuset.mems cannot be read keeps running', async () => {
    const kit = new MemoryManagerKit();
    await kit.start({ policy: 'None' });
    const big = aGuaranteedPod('big', '20Gi');
    const manager = await kit.start({ running: [runningOf(big, 'c0')], mems: { 'big-c0': 'garbage' } });
    expect(() => admit(manager, big)).not.toThrow();
    manager.release(podUid(big));
    expect(() => admit(manager, big)).toThrow();
  });
});
