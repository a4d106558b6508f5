import { expect, test } from 'vitest';
import type { ResourceRequirements } from '../../api/k8s/types.ts';
import { fnv1a32 } from '../../api/pod/fnv.ts';
import { asPodUid } from '../../api/pod/pod-ref.ts';
import { decodeAllocations, encodeAllocations, encodeRequirements } from './allocation-checkpoint.ts';

/** As the Go kubelet v1.34 and this one before pod-level resources could be resized write it. */
const golden =
  '{"data":"{\\"entries\\":{\\"pod1\\":{\\"ContainerResources\\":{\\"container1\\":{\\"requests\\":{\\"cpu\\":\\"1Ki\\",\\"memory\\":\\"1Ki\\"}}}}}}","checksum":1178570812}';

/** As the Go kubelet v1.37 writes it. */
const golden137 =
  '{"data":"{\\"entries\\":{\\"uid-a\\":{\\"ContainerResources\\":{\\"app\\":{\\"limits\\":{\\"cpu\\":\\"500m\\",\\"memory\\":\\"128Mi\\"},\\"requests\\":{\\"cpu\\":\\"100m\\",\\"memory\\":\\"64Mi\\"}},\\"init\\":{}},\\"PodLevelResources\\":{\\"limits\\":{\\"cpu\\":\\"1\\",\\"memory\\":\\"256Mi\\"},\\"requests\\":{\\"cpu\\":\\"150m\\",\\"memory\\":\\"96Mi\\"}},\\"EmptyDirVolumeLimits\\":null},\\"uid-b\\":{\\"ContainerResources\\":{\\"c\\":{}},\\"PodLevelResources\\":null,\\"EmptyDirVolumeLimits\\":{\\"none\\":null,\\"shm\\":\\"64Mi\\"}},\\"uid-c\\":{\\"ContainerResources\\":{},\\"PodLevelResources\\":{\\"limits\\":{\\"cpu\\":\\"200m\\",\\"memory\\":\\"128Mi\\"}},\\"EmptyDirVolumeLimits\\":null}}}","checksum":3489554040}';

test("decodes the Go kubelet's file and encodes it to the same bytes", () => {
  const pods = decodeAllocations(golden);
  expect([...pods]).toEqual([
    [
      'pod1',
      {
        containers: new Map([['container1', { requests: { cpu: '1Ki', memory: '1Ki' } }]]),
        podLevel: undefined,
      },
    ],
  ]);
  expect(encodeAllocations(pods)).toBe(golden);
});

test('decodes the file of the Go kubelet v1.37 and encodes it to the same bytes', () => {
  const pods = decodeAllocations(golden137);
  expect(pods.get(asPodUid('uid-a'))?.podLevel).toEqual({
    limits: { cpu: '1', memory: '256Mi' },
    requests: { cpu: '150m', memory: '96Mi' },
  });
  expect(pods.get(asPodUid('uid-b'))).toMatchObject({
    podLevel: null,
    volumeLimits: { none: null, shm: '64Mi' },
  });
  expect(pods.get(asPodUid('uid-c'))?.containers.size).toBe(0);
  expect(encodeAllocations(pods)).toBe(golden137);
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
      [asPodUid('b'), { containers: new Map([['x', {}]]), podLevel: null }],
      [
        asPodUid('a'),
        {
          containers: new Map<string, ResourceRequirements>([
            ['z', {}],
            ['y', requirements],
          ]),
          podLevel: requirements,
        },
      ],
    ]),
  );
  const { data } = JSON.parse(text) as { data: string };
  expect(data).toMatch(
    /^{"entries":{"a":{"ContainerResources":{"y":{.*},"z":{}},"PodLevelResources":{"limits".*},"EmptyDirVolumeLimits":null},"b":{"ContainerResources":{"x":{}},"PodLevelResources":null,"EmptyDirVolumeLimits":null}}}$/,
  );
  expect(encodeAllocations(decodeAllocations(text))).toBe(text);
});

/** A checkpoint with this content and the checksum that belongs to it. */
function withData(data: string): string {
  return JSON.stringify({ data, checksum: fnv1a32(`(string)${data}`) });
}

const broken = [
  ['not JSON', 'x', 'it is not JSON'],
  ['not an object', '[]', 'it is not a JSON object'],
  ['wrong checksum', golden.replace('1178570812', '1337'), 'checkpoint is corrupted'],
  ['changed content', golden.replace('1Ki', '2Ki'), 'checkpoint is corrupted'],
  [
    'a resource list that is no object',
    withData('{"entries":{"p":{"PodLevelResources":[]}}}'),
    'not a JSON object',
  ],
  [
    'a volume limit that is no quantity',
    withData('{"entries":{"p":{"EmptyDirVolumeLimits":{"v":{}}}}}'),
    'v is not a quantity',
  ],
  ['truncated', golden.slice(0, 40), 'it is not JSON'],
  ['empty', '', 'it is not JSON'],
] as const;
for (const [name, text, why] of broken)
  test(`rejects a file: ${name}`, () => expect(() => decodeAllocations(text)).toThrow(why));
