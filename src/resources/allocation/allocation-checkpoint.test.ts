import { expect, test } from 'vitest';
import type { ResourceRequirements } from '../../api/k8s/types.ts';
import { asPodUid } from '../../api/pod/pod-ref.ts';
import { decodeAllocations, encodeAllocations, encodeRequirements } from './allocation-checkpoint.ts';

/** As the Go kubelet of this version has it. */
const golden =
  '{"data":"{\\"entries\\":{\\"pod1\\":{\\"ContainerResources\\":{\\"container1\\":{\\"requests\\":{\\"cpu\\":\\"1Ki\\",\\"memory\\":\\"1Ki\\"}}}}}}","checksum":1178570812}';

test('what the Go kubelet wrote is read, and written again byte for byte', () => {
  const pods = decodeAllocations(golden);
  expect([...pods].map(([uid, containers]) => [uid, ...containers])).toEqual([
    ['pod1', ['container1', { requests: { cpu: '1Ki', memory: '1Ki' } }]],
  ]);
  expect(encodeAllocations(pods)).toBe(golden);
});

test('no pods: no entries, as Go leaves an empty map out', () => {
  expect(encodeAllocations(new Map())).toMatch(/^{"data":"{}","checksum":\d+}$/);
  expect(decodeAllocations(encodeAllocations(new Map()))).toEqual(new Map());
});

test('the order is Go’s: pods, containers and resources by name, limits before requests', () => {
  const requirements = {
    requests: { memory: '0.5Gi', cpu: '1000m' },
    claims: [{ name: 'gpu', request: 'one' }, { name: 'net' }],
    limits: { memory: '1Gi' },
  };
  expect(encodeRequirements(requirements)).toBe(
    '{"limits":{"memory":"1Gi"},"requests":{"cpu":"1","memory":"512Mi"},"claims":[{"name":"gpu","request":"one"},{"name":"net"}]}',
  );
  const text = encodeAllocations(
    new Map([
      [asPodUid('b'), new Map([['x', {}]])],
      [
        asPodUid('a'),
        new Map<string, ResourceRequirements>([
          ['z', {}],
          ['y', requirements],
        ]),
      ],
    ]),
  );
  const { data } = JSON.parse(text) as { data: string };
  expect(data).toMatch(
    /^{"entries":{"a":{"ContainerResources":{"y":{.*},"z":{}}},"b":{"ContainerResources":{"x":{}}}}}$/,
  );
  expect(encodeAllocations(decodeAllocations(text))).toBe(text);
});

const broken = [
  ['not JSON', 'x', 'it is not JSON'],
  ['no object', '[]', 'it has another form'],
  ['another checksum', golden.replace('1178570812', '1337'), 'checkpoint is corrupted'],
  ['another content', golden.replace('1Ki', '2Ki'), 'checkpoint is corrupted'],
  ['cut off', golden.slice(0, 40), 'it is not JSON'],
  ['empty', '', 'it is not JSON'],
] as const;
for (const [name, text, why] of broken)
  test(`refused: ${name}`, () => expect(() => decodeAllocations(text)).toThrow(why));
