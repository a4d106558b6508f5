import { expect, test } from 'vitest';
import type { EventText } from '../../api/ports/events.ts';
import { parseAmounts } from '../../api/quantity/resource-amounts.ts';
import { canKeepOutOfSwap, NodeChecks, type NodeChecksDeps } from './node-checks.ts';

async function told(over: Partial<NodeChecksDeps> = {}): Promise<readonly string[]> {
  const events: EventText[] = [];
  const stop = new AbortController();
  const { stopped } = await new NodeChecks({
    capacity: parseAmounts({ cpu: '2', memory: '1Gi' }),
    reservation: parseAmounts({ cpu: '1' }),
    reservedCpus: '',
    onlineCpus: '0-3',
    swapBytes: 0n,
    cgroupVersion: 2,
    kernelRelease: '6.1.0-31-amd64',
    events: { node: (event) => void events.push(event) },
    ...over,
  }).start(stop.signal);
  stop.abort();
  await stopped;
  return events.map(({ reason }) => reason);
}

test('a node that has what is kept back starts', async () => expect(await told()).toEqual([]));

test('one that has less does not, and says of what', async () =>
  await expect(told({ reservation: parseAmounts({ memory: '2Gi' }) })).rejects.toThrow(
    'invalid Node Allocatable configuration. Resource "memory" has a reservation of 2Gi but capacity of 1Gi.',
  ));

test('processors that are reserved by number must be there', async () => {
  expect(await told({ reservedCpus: '0,2-3' })).toEqual([]);
  expect(await told({ reservedCpus: '9', onlineCpus: '' })).toEqual([]);
  await expect(told({ reservedCpus: '0,3-4' })).rejects.toThrow(
    'reserved-cpus: 0,3-4 is not a subset of online-cpus: 0-3',
  );
});

test('a node with the old control groups is told of it', async () =>
  expect(await told({ cgroupVersion: 1 })).toEqual(['CgroupV1']));

test('with swap and a kernel that cannot keep files out of it, that is told', async () => {
  expect(await told({ swapBytes: 1n })).toEqual(['PossibleMemoryBackedVolumesOnDisk']);
  expect(await told({ swapBytes: 1n, kernelRelease: '6.18.44' })).toEqual([]);
});

test('since which kernel', () =>
  expect(['5.15.0', '6.3.9', '6.4.0-rc1', '6.10.1', '7.0', ''].map(canKeepOutOfSwap)).toEqual([
    false,
    false,
    true,
    true,
    true,
    false,
  ]));
