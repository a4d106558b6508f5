import { expect, test } from 'vitest';
import type { ResourceRequirements } from '../../api/k8s/types.ts';
import { asPodUid } from '../../api/pod/pod-ref.ts';
import { decodeAllocations, encodeAllocations, encodeRequirements } from './allocation-checkpoint.ts';

/** As the Go kubelet of the same version writes it. */
const golden =
  '{"data":"{\\"entries\\":{\\"pod1\\":{\\"ContainerResources\\":{\\"container1\\":{\\"requests\\":{\\"cpu\\":\\"1Ki\\",\\"memory\\":\\"1Ki\\"}}}}}}","checksum":1178570812}';

test("decodes the Go kubelet's file and encodes it to the same bytes", () => {
  const pods = decodeAllocations(golden);
  expect([...pods].map(([uid, containers]) => [uid, ...containers])).toEqual([
    ['pod1', ['container1', { requests: { cpu: '1Ki', memory: '1Ki' } }]],
  ]);
  expect(encodeAllocations(pods)).toBe(golden);
});

test('omits the entries if there are no pods, as Go does with an empty map', () => {
  expect(encodeAllocations(new Map())).toMatch(/^{"data":"{}","checksum":\d+}$/);
  expect(decodeAllocations(encodeAllocations(new Map()))).toEqual(new Map());
});

test('orders pods, containers and resources by name and limits before requests, as Go does', () => {
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
  ['not an object', '[]', 'it is not a JSON object'],
  ['wrong checksum', golden.replace('1178570812', '1337'), 'checkpoint is corrupted'],
  ['changed content', golden.replace('1Ki', '2Ki'), 'checkpoint is corrupted'],
  ['truncated', golden.slice(0, 40), 'it is not JSON'],
  ['empty', '', 'it is not JSON'],
] as const;
for (const [name, text, why] of broken)
  test(`rejects a file: ${name}`, () => expect(() => decodeAllocations(text)).toThrow(why));
