import { expect, test } from 'vitest';
import { formatAmounts } from '../api/resource-amounts.ts';
import { machineResources } from './machine-resources.ts';

const machine = {
  cores: 2,
  memoryBytes: 24_682_416n * 1024n,
  storageBytes: 264_212_084n * 1024n,
  hugePages: [
    { pageBytes: 1n << 21n, count: 8n },
    { pageBytes: 1n << 30n, count: 0n },
  ],
};
const none = { kubeReserved: {}, systemReserved: {}, evictionHard: {}, ignoreEviction: false };

test('a machine’s capacity is written as upstream writes it', () => {
  expect(formatAmounts(machineResources(machine, none).capacity())).toEqual({
    cpu: '2',
    'ephemeral-storage': '264212084Ki',
    'hugepages-2Mi': '16Mi',
    'hugepages-1Gi': '0',
    memory: '24682416Ki',
  });
});

const cases = [
  ['nothing', none, {}],
  [
    'thresholds, a share in upstream’s precision',
    { ...none, evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '2%' } },
    { memory: '100Mi', 'ephemeral-storage': '5411063359' },
  ],
  [
    'all three together',
    {
      ...none,
      kubeReserved: { cpu: '100m', memory: '1Gi' },
      systemReserved: { cpu: '200m' },
      evictionHard: { 'memory.available': '24Mi' },
    },
    { cpu: '300m', memory: '1048Mi' },
  ],
  [
    'thresholds left out',
    { ...none, evictionHard: { 'memory.available': '100Mi' }, ignoreEviction: true },
    {},
  ],
] as const;
for (const [name, reserved, want] of cases)
  test(`reservation: ${name}`, () => {
    expect(formatAmounts(machineResources(machine, reserved).reservation())).toEqual(want);
  });
