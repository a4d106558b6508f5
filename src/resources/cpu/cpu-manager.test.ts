import { describe, expect, test } from 'vitest';
import { aContainer, anObservedContainer, anObservedPod, aPod } from '../../../test/builders/builders.ts';
import { aTopology } from '../../../test/builders/cpu-machine.ts';
import { CpuManagerRig } from '../../../test/builders/cpu-manager-rig.ts';
import { asPodUid } from '../../api/pod/pod-ref.ts';
import { KubeletError } from '../../base/errors.ts';
import { CpuSet } from './cpu-set.ts';
import { encodeCpuState } from './cpu-state.ts';

const path = '/root/cpu_manager_state';
const fourCpus = aTopology({ numaNodes: 1, coresPerNode: 4, threads: 1 });
const fileOf = (
  shared: string,
  entries: Record<string, Record<string, string>> = {},
  policyName = 'static',
) => encodeCpuState({ policyName, defaultCpuSet: shared, entries });

describe('the policy static', () => {
  test('keeps its assignments in the file and adopts them after a restart', async () => {
    const rig = new CpuManagerRig();
    await rig.start();
    rig.admit('a', '2');
    rig.admit('b', '1500m');
    await rig.manager.saved();
    expect(rig.files.get(path)).toBe(fileOf('0,2-4,6-7', { a: { c: '1,5' } }));
    expect(rig.view('a')).toEqual({ exclusive: '1,5', cpus: '1,5', has: true });
    expect(rig.view('b')).toEqual({ exclusive: undefined, cpus: '0,2-4,6-7', has: false });
    expect(`${rig.manager.allocatable()}`).toBe('1-3,5-7');
    await rig.restart();
    expect(rig.view('a')).toEqual({ exclusive: '1,5', cpus: '1,5', has: true });
    expect(rig.manager.holders()).toEqual(['a']);
    rig.manager.release(asPodUid('a'));
    await rig.manager.saved();
    expect(rig.files.get(path)).toBe(fileOf('0-7'));
    expect(rig.events).toEqual([]);
    await rig.stop();
  });

  test('removes shared containers from CPUs that become exclusive at once, and returns them after the release', async () => {
    const rig = new CpuManagerRig();
    rig.run('shared', 'c');
    await rig.start();
    await rig.clock.settle();
    expect(rig.updates).toEqual(['shared/c-1 0-7']);
    rig.admit('a', '2');
    await rig.manager.settled();
    expect(rig.updates.splice(0)).toEqual(['shared/c-1 0-7', 'shared/c-1 0,2-4,6-7']);
    rig.manager.release(asPodUid('a'));
    await rig.clock.settle();
    expect(rig.updates).toEqual(['shared/c-1 0-7']);
    await rig.stop();
  });

  test('a container that was created with its CPUs needs no update until they change', async () => {
    const rig = new CpuManagerRig();
    await rig.start();
    rig.admit('a', '2');
    rig.manager.created(asPodUid('a'), 'c', CpuSet.parse('1,5'));
    rig.manager.created(asPodUid('shared'), 'c', CpuSet.parse('0,2-4,6-7'));
    rig.run('a', 'c');
    rig.run('shared', 'c');
    await rig.clock.advance(30_000);
    expect(rig.updates).toEqual([]);
    rig.admit('b', '2');
    await rig.clock.settle();
    expect(rig.updates).toEqual(['shared/c-1 0,3-4,7']);
    await rig.stop();
  });

  test('a hanging and a failing container delay no other, and are retried', async () => {
    const rig = new CpuManagerRig();
    for (const name of ['hangs', 'fails', 'works']) rig.run(name, 'c');
    rig.update = (id) => {
      if (id === 'hangs/c-1') return new Promise(() => undefined);
      return id === 'fails/c-1' ? Promise.reject(new Error('no')) : Promise.resolve();
    };
    await rig.start();
    await rig.clock.settle();
    expect(rig.updates.toSorted()).toEqual(['fails/c-1 0-7', 'hangs/c-1 0-7', 'works/c-1 0-7']);
    const settled = rig.manager.settled();
    await rig.clock.advance(10_000);
    await settled;
    rig.update = () => Promise.resolve();
    rig.updates.length = 0;
    await rig.clock.advance(20_000);
    expect(rig.updates.toSorted()).toEqual(['fails/c-1 0-7', 'hangs/c-1 0-7']);
    await rig.stop();
  });

  test('settles only when an update with outdated CPUs was followed by another one', async () => {
    const rig = new CpuManagerRig();
    const answers: (() => void)[] = [];
    rig.update = () => new Promise<void>((resolve) => void answers.push(resolve));
    rig.run('shared', 'c');
    await rig.start();
    await rig.clock.settle();
    rig.admit('a', '2');
    let isSettled = false;
    const settle = async (): Promise<void> => {
      await rig.manager.settled();
      isSettled = true;
    };
    const settled = settle();
    await rig.clock.settle();
    answers.shift()?.();
    await rig.clock.settle();
    expect([rig.updates, isSettled]).toEqual([['shared/c-1 0-7', 'shared/c-1 0,2-4,6-7'], false]);
    answers.shift()?.();
    await settled;
    await rig.stop();
  });

  test('rejects a pod that does not fit, unless it already runs', async () => {
    const rig = new CpuManagerRig();
    await rig.start();
    expect(() => rig.admit('a', '7')).toThrow(
      'not enough cpus available to satisfy request: requested=7, available=6',
    );
    rig.run('old', 'c');
    rig.admit('old', '7');
    expect(rig.view('old').exclusive).toBeUndefined();
    expect(rig.events).toEqual([]);
    await rig.stop();
  });

  test('reports its metrics', async () => {
    const rig = new CpuManagerRig({ options: { 'full-pcpus-only': 'true' } });
    await rig.start();
    rig.admit('a', '2');
    rig.admit('b', '4');
    rig.manager.release(asPodUid('b'));
    expect(() => rig.admit('c', '3')).toThrow('SMT Alignment Error');
    expect(rig.samples()).toEqual({
      'cpu_manager_allocation_per_numa{numa_node="0"}': '2',
      'cpu_manager_allocation_per_numa{numa_node="1"}': '0',
      cpu_manager_exclusive_cpu_allocation_count: '2',
      cpu_manager_pinning_errors_total: '1',
      cpu_manager_pinning_requests_total: '3',
      cpu_manager_shared_pool_size_millicores: '4000',
      'aligned physical_cpu': '2',
      'aligned uncore_cache': '2',
      'notAligned physical_cpu': '1',
    });
    await rig.stop();
  });
});

describe('a state file that does not fit', () => {
  test.each([
    ['is truncated', fileOf('0-7').slice(0, 40), 'it is not JSON'],
    ['is empty', '', 'it is empty'],
    [
      'is of the first format',
      '{"policyName":"static","defaultCpuSet":"0-7","entries":{"id":"1-2"},"checksum":7}',
      'checkpoint is corrupted',
    ],
    ['has malformed sets', fileOf('0-7', { u: { c: 'x' } }), 'strconv.Atoi: parsing "x": invalid syntax'],
  ])('that %s is set aside; running containers keep their CPUs', async (_, text, why) => {
    const rig = new CpuManagerRig();
    rig.files.set(path, text);
    rig.run('a', 'c', '3,7');
    rig.run('shared', 'c', '0-2,4-6');
    await rig.start();
    // A new pod that is admitted first must not get the CPUs of the running one.
    rig.admit('new', '4');
    expect(rig.view('new').exclusive).toBe('1-2,5-6');
    rig.admit('a', '2');
    expect(rig.view('a').exclusive).toBe('3,7');
    expect(rig.events).toEqual([]);
    rig.admit('shared', '100m');
    expect(rig.events).toHaveLength(1);
    expect(rig.events[0]).toContain(
      `ManagerStateRecovered The CPU manager could not use ${path} as it was: ${why}`,
    );
    expect(rig.events[0]).toContain(
      'It was set aside as /root/.cpu_manager_state.damaged. Containers that keep their CPUs: 1.',
    );
    expect(rig.files.get('/root/.cpu_manager_state.damaged')).toBe(text);
    await rig.manager.saved();
    expect(rig.files.get(path)).toBe(fileOf('0,4', { a: { c: '3,7' }, new: { c: '1-2,5-6' } }));
    await rig.stop();
  });

  test('uses its predecessor if it is damaged', async () => {
    const rig = new CpuManagerRig();
    rig.files.set(path, '[]');
    rig.files.set('/root/.cpu_manager_state.previous', fileOf('0,2-4,6-7', { a: { c: '1,5' } }));
    await rig.start();
    expect(rig.view('a').exclusive).toBe('1,5');
    expect(rig.events).toEqual([
      `ManagerStateRecovered The CPU manager could not use ${path} as it was: it is not a JSON object. It was set aside as /root/.cpu_manager_state.damaged. The state before the last write was used.`,
    ]);
    await rig.stop();
  });

  test('containers on CPUs that are gone are moved, and the shared ones with them', async () => {
    const rig = new CpuManagerRig({ reserved: '1', topology: fourCpus });
    const stored = fileOf('0,2-3,5-7', { a: { c: '1,4' } });
    rig.files.set(path, stored);
    rig.run('a', 'c');
    rig.run('shared', 'c');
    await rig.start();
    await rig.clock.settle();
    expect(rig.updates.toSorted()).toEqual(['a/c-1 1-2', 'shared/c-1 0,3']);
    rig.admit('a', '2');
    expect(rig.events).toEqual([
      `ManagerStateRecovered The CPU manager could not use ${path} as it was: current set of available CPUs "0-3" doesn't match with CPUs in state "0-7". It was set aside as /root/.cpu_manager_state.replaced. Moved: (default/a, container c: 1,4 to 1-2).`,
    ]);
    expect(rig.files.get('/root/.cpu_manager_state.replaced')).toBe(stored);
    await rig.stop();
  });

  test('after a change from none to static, running containers get CPUs as far as there are enough', async () => {
    const rig = new CpuManagerRig();
    rig.files.set(path, fileOf('', {}, 'none'));
    for (const name of ['a', 'b', 'shared']) rig.run(name, 'c');
    await rig.start();
    await rig.clock.settle();
    rig.updates.length = 0;
    rig.admit('a', '4');
    rig.admit('b', '4');
    await rig.clock.settle();
    expect(rig.updates.toSorted()).toEqual(['a/c-1 2-3,6-7', 'b/c-1 0-1,4-5', 'shared/c-1 0-1,4-5']);
    // The third pod is never admitted again: the report has a deadline.
    await rig.clock.advance(120_000);
    expect(rig.events).toEqual([
      `ManagerStateRecovered The CPU manager could not use ${path} as it was: configured policy "static" differs from state checkpoint policy "none". It was set aside as /root/.cpu_manager_state.replaced. Moved: (default/a, container c: to 2-3,6-7). Without exclusive CPUs: (default/b, container c).`,
    ]);
    await rig.stop();
  });

  test('the kubelet starts although the runtime does not answer', async () => {
    const rig = new CpuManagerRig();
    rig.files.set(path, '{');
    rig.list = () => new Promise(() => undefined);
    const started = rig.start();
    await rig.clock.advance(5_000);
    await started;
    expect(rig.events).toHaveLength(1);
    await rig.stop();
  });
});

test('a container whose CPUs cannot be read keeps no other from being adopted', async () => {
  const rig = new CpuManagerRig();
  rig.files.set(path, '[]');
  rig.run('a', 'c', '3,7');
  rig.run('hangs', 'c', '2,6');
  rig.readCpuset = (id) => (id === 'hangs/c-1' ? new Promise(() => undefined) : Promise.resolve());
  const started = rig.start();
  await rig.clock.advance(5_000);
  await started;
  rig.admit('hangs', '2');
  rig.admit('a', '2');
  expect([rig.view('a').exclusive, rig.view('hangs').exclusive]).toEqual(['3,7', '1,5']);
  expect(rig.events).toHaveLength(1);
  await rig.stop();
});

describe('the policy none', () => {
  test('leaves the CPUs to the runtime and keeps the file', async () => {
    const rig = new CpuManagerRig({ policy: 'none' });
    rig.run('a', 'c');
    await rig.start();
    rig.admit('a', '2');
    expect(rig.view('a')).toEqual({ exclusive: undefined, cpus: '', has: false });
    expect(`${rig.manager.allocatable()}`).toBe('');
    await rig.manager.settled();
    await rig.clock.advance(30_000);
    expect(rig.files.get(path)).toBe(fileOf('', {}, 'none'));
    expect([rig.updates, rig.events]).toEqual([[], []]);
    await rig.stop();
  });

  test('gives all CPUs back to running containers after a change from static', async () => {
    const rig = new CpuManagerRig({ policy: 'none' });
    const stored = fileOf('0,2-4,6-7', { a: { c: '1,5' } });
    rig.files.set(path, stored);
    rig.run('a', 'c', '1,5');
    rig.run('b', 'c', '0,2-4,6-7');
    rig.run('fails', 'c', '0,2-4,6-7');
    rig.run('unpinned', 'c');
    rig.update = (id) => (id === 'fails/c-1' ? Promise.reject(new Error('no')) : Promise.resolve());
    let answer: (value?: unknown) => void = () => undefined;
    rig.list = () => new Promise((resolve) => void (answer = resolve));
    await rig.start();
    expect(rig.files.get(path)).toBe(stored);
    answer();
    await rig.clock.advance(1_000);
    expect(rig.updates.toSorted()).toEqual(['a/c-1 0-7', 'b/c-1 0-7', 'fails/c-1 0-7']);
    expect(rig.files.get(path)).toBe(fileOf('', {}, 'none'));
    expect(rig.events).toEqual([
      `ManagerStateRecovered The CPU manager could not use ${path} as it was: configured policy "none" differs from state checkpoint policy "static". It was set aside as /root/.cpu_manager_state.replaced. Containers with all CPUs again: 2. Still on their former CPUs: (pod fails, container c).`,
    ]);
    await rig.stop();
  });
});

test.each([
  [
    '0',
    '[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero',
  ],
  [undefined, '[cpumanager] unable to determine reserved CPU resources for static policy'],
  [
    '9',
    'new static policy error: [cpumanager] unable to reserve the required amount of CPUs (size of  did not equal 9)',
  ],
])('a reservation of %s CPUs keeps the kubelet from starting', async (reserved, message) => {
  const rig = new CpuManagerRig({ reserved });
  await expect(rig.start()).rejects.toThrow(new KubeletError('invalid', 'InvalidCpuReservation', message));
});

test('an init container that has exited is not updated', async () => {
  const rig = new CpuManagerRig();
  const pod = aPod({ uid: 'u', containers: [aContainer()] });
  rig.active.push(pod);
  rig.observe(
    anObservedPod({
      uid: asPodUid('u'),
      containers: [
        anObservedContainer({ name: 'init', state: 'exited' }),
        anObservedContainer({ name: 'c', state: 'created' }),
      ],
    }),
  );
  await rig.start();
  await rig.clock.advance(20_000);
  expect(rig.updates).toEqual([]);
  await rig.stop();
});
