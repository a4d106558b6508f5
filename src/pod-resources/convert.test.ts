import { describe, expect, test } from 'vitest';
import type { ContainerDevices, ContainerMemory } from '../api/kubelet/generated/podresources/v1/api.ts';
import { cpuIds, deviceEntries, memoryEntries, sortDevices, withoutTopology } from './convert.ts';
import type { HeldDevice, HeldMemory } from './resource-views.ts';

const gpu = (id: string, ...numaNodes: readonly number[]): HeldDevice => ({
  resource: 'v.io/gpu',
  id,
  numaNodes,
});

/** `resource id @nodes` */
function deviceLine({ deviceIds, resourceName, topology }: ContainerDevices): string {
  const nodes = topology === undefined ? '' : ` @${topology.nodes.map(({ ID }) => ID).join(',')}`;
  return `${resourceName} ${deviceIds.join('+')}${nodes}`;
}

describe('deviceEntries', () => {
  const cases: readonly (readonly [string, readonly HeldDevice[], readonly string[]])[] = [
    ['no devices → no entries', [], []],
    ['a device of one NUMA node → one entry', [gpu('a', 1)], ['v.io/gpu a @1']],
    [
      'a device of two NUMA nodes → one entry per node, ascending',
      [gpu('a', 1, 0)],
      ['v.io/gpu a @0', 'v.io/gpu a @1'],
    ],
    [
      'a device without topology → one entry without topology',
      [{ resource: 'v.io/gpu', id: 'a', numaNodes: undefined }],
      ['v.io/gpu a'],
    ],
    ['a topology without nodes → one entry without topology', [gpu('a')], ['v.io/gpu a']],
    ['two devices → an id per entry', [gpu('a', 0), gpu('b', 0)], ['v.io/gpu a @0', 'v.io/gpu b @0']],
  ];
  for (const [title, devices, want] of cases)
    test(title, () => expect(deviceEntries(devices).map(deviceLine)).toEqual(want));

  test('v1alpha1 repeats a device of two NUMA nodes, without topology', () => {
    const entries = withoutTopology(deviceEntries([gpu('a', 0, 1)]));
    expect(entries.map(deviceLine)).toEqual(['v.io/gpu a', 'v.io/gpu a']);
  });
});

test('sortDevices sorts by resource, then by id', () => {
  const held = ['b/x 2', 'a/x 9', 'b/x 10', 'a/x 1'].map((line) => {
    const [resource = '', id = ''] = line.split(' ');
    return { resource, id, numaNodes: undefined };
  });
  const lines = sortDevices(held).map(({ id, resource }) => `${resource} ${id}`);
  expect(lines).toEqual(['a/x 1', 'a/x 9', 'b/x 10', 'b/x 2']);
});

function memoryLine({ memoryType, size, topology }: ContainerMemory): string {
  return `${memoryType} ${size} @${topology?.nodes.map(({ ID }) => ID).join(',')}`;
}

describe('memoryEntries', () => {
  const block = (type: string, size: bigint | number, ...numaAffinity: readonly number[]): HeldMemory => ({
    type,
    size,
    numaAffinity,
  });
  const cases: readonly (readonly [string, readonly HeldMemory[], readonly string[]])[] = [
    ['no blocks → no entries', [], []],
    [
      'a block over two NUMA nodes → one entry, nodes ascending',
      [block('memory', 5, 1, 0)],
      ['memory 5 @0,1'],
    ],
    ['a block without NUMA nodes → an empty topology', [block('memory', 5)], ['memory 5 @']],
    ['a size beyond 2^53 is exact', [block('memory', 2n ** 64n - 1n, 0)], [`memory ${2n ** 64n - 1n} @0`]],
    [
      'sorts by type, then by NUMA nodes',
      [block('memory', 1, 1), block('hugepages-2Mi', 2, 1), block('memory', 3, 0, 1), block('memory', 4, 0)],
      ['hugepages-2Mi 2 @1', 'memory 4 @0', 'memory 3 @0,1', 'memory 1 @1'],
    ],
  ];
  for (const [title, blocks, want] of cases)
    test(title, () => expect(memoryEntries(blocks).map(memoryLine)).toEqual(want));
});

test('cpuIds sorts numerically', () => {
  expect(cpuIds([10, 2, 0])).toEqual([0n, 2n, 10n]);
});
