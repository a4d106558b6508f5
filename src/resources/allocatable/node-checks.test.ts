import { expect, test } from 'vitest';
import type { EventText } from '../../api/ports/events.ts';
import { parseAmounts, type ResourceAmounts } from '../../api/quantity/resource-amounts.ts';
import { silentLogger } from '../../base/log/log.ts';
import { canKeepOutOfSwap, NodeChecks } from './node-checks.ts';

interface Over {
  readonly reservation?: ResourceAmounts;
  readonly autoReserved?: Readonly<Record<string, string>>;
  readonly reservedCpus?: string;
  readonly onlineCpus?: string;
  readonly swapBytes?: bigint;
  readonly cgroupVersion?: 1 | 2;
  readonly kernelRelease?: string;
  readonly memoryQos?: boolean;
}

async function eventsOf(over: Over = {}, logged: string[] = []): Promise<readonly string[]> {
  const { memoryQos = false, reservation = parseAmounts({ cpu: '1' }), reservedCpus = '', ...machine } = over;
  const events: EventText[] = [];
  const write = (message: string, fields: object = {}): void =>
    void logged.push('memory' in fields ? `${message} ${JSON.stringify(fields)}` : message);
  const stop = new AbortController();
  const { stopped } = await new NodeChecks({
    budget: {
      capacity: () => parseAmounts({ cpu: '2', memory: '1Gi' }),
      reservation: () => reservation,
      autoReserved: () => over.autoReserved ?? {},
    },
    machine: {
      onlineCpus: '0-3',
      swapBytes: 0n,
      cgroupVersion: 2,
      kernelRelease: '6.1.0-31-amd64',
      ...machine,
    },
    reservedCpus,
    memoryQos,
    events: { node: (event) => void events.push(event) },
    log: { ...silentLogger, info: write, warn: write },
  }).start(stop.signal);
  stop.abort();
  await stopped;
  logged.push(...events.map(({ message }) => message));
  return events.map(({ reason }) => reason);
}

test('accepts a reservation within the capacity', async () => expect(await eventsOf()).toEqual([]));

test('logs what is reserved automatically, in one line', async () => {
  const lines: string[] = [];
  await eventsOf({ autoReserved: { cpu: '70m', memory: '1Gi' } }, lines);
  expect(lines).toEqual(['Reserved resources according to the machine\'s size {"cpu":"70m","memory":"1Gi"}']);
});

test('rejects a reservation above the capacity', async () =>
  await expect(eventsOf({ reservation: parseAmounts({ memory: '2Gi' }) })).rejects.toThrow(
    'invalid Node Allocatable configuration. Resource "memory" has a reservation of 2Gi but capacity of 1Gi.',
  ));

test('rejects reserved CPUs that are not online', async () => {
  expect(await eventsOf({ reservedCpus: '0,2-3' })).toEqual([]);
  expect(await eventsOf({ reservedCpus: '9', onlineCpus: '' })).toEqual([]);
  await expect(eventsOf({ reservedCpus: '0,3-4' })).rejects.toThrow(
    'reserved-cpus: 0,3-4 is not a subset of online-cpus: 0-3',
  );
});

test('warns about cgroup v1', async () => {
  const messages: string[] = [];
  expect(await eventsOf({ cgroupVersion: 1 }, messages)).toEqual(['CgroupV1']);
  expect(messages).toEqual([
    'cgroup v1 detected. cgroup v1 support is deprecated and will be removed in a future release. Please migrate to cgroup v2. More information at https://git.k8s.io/enhancements/keps/sig-node/5573-remove-cgroup-v1',
  ]);
});

test('warns about swap on a kernel without the noswap option of tmpfs', async () => {
  expect(await eventsOf({ swapBytes: 1n })).toEqual(['PossibleMemoryBackedVolumesOnDisk']);
  expect(await eventsOf({ swapBytes: 1n, kernelRelease: '6.18.44' })).toEqual([]);
});

test('detects the noswap option by the kernel release', () =>
  expect(['5.15.0', '6.3.9', '6.4.0-rc1', '6.10.1', '7.0', ''].map(canKeepOutOfSwap)).toEqual([
    false,
    false,
    true,
    true,
    true,
    false,
  ]));

const unused = 'MemoryQoS has no effect on cgroup v1';
const livelock = 'Throttling by memory.high may livelock processes on this kernel';
const qosCases = [
  ['on cgroup v1', { cgroupVersion: 1 }, [unused]],
  ['on a kernel before 5.9', { kernelRelease: '5.8.18' }, [livelock]],
  ['on Linux 5.9', { kernelRelease: '5.9.0-rc1' }, []],
  ['on an unknown kernel', { kernelRelease: '' }, []],
  ['without the gate', { kernelRelease: '5.8.18', memoryQos: false }, []],
] as const;
for (const [name, over, want] of qosCases)
  test(`MemoryQoS ${name}: logs ${want.length === 0 ? 'nothing' : want[0]}`, async () => {
    const logged: string[] = [];
    await eventsOf({ memoryQos: true, ...over }, logged);
    expect(logged.slice(0, want.length)).toEqual(want);
    expect(logged.filter((line) => line === unused || line === livelock)).toEqual(want);
  });
