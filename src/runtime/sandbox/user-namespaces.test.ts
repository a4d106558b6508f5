import { describe, expect, test } from 'vitest';
import { aPod } from '../../../test/builders/builders.ts';
import { StatusResponse } from '../../api/cri/generated/runtime/v1/api.ts';
import { KubeletError } from '../../base/errors.ts';
import { parseMappings, UserNamespaces, type UserNamespacesDeps } from './user-namespaces.ts';

const everything = { first: 65_536, length: 2 ** 32 - 65_536 };
const { signal } = new AbortController();
const onNode = { mode: 2 };
const range = (hostId: number): object => ({ hostId, containerId: 0, length: 65_536 });
const own = (hostId: number): object => ({ mode: 0, uids: [range(hostId)], gids: [range(hostId)] });
const text = (hostId: number): string =>
  JSON.stringify({ uidMappings: [range(hostId)], gidMappings: [range(hostId)] });
const wants = (uid: string): ReturnType<typeof aPod> => aPod({ uid, hostUsers: false });

function rig(
  disk: Map<string, string> = new Map(),
  over: Partial<UserNamespacesDeps> = {},
  handlers: object[] = [{ name: '', features: { userNamespaces: true } }, { name: 'kata' }],
): UserNamespaces {
  return new UserNamespaces({
    cri: { status: async () => StatusResponse.fromPartial({ runtimeHandlers: handlers }) },
    files: {
      listNames: async () => [...disk.keys()].map((path) => path.split('/')[3] ?? ''),
      makeDirectory: async () => false,
      readTextIfAny: async (path) => disk.get(path),
      writeText: async (path, content) => void disk.set(path, content),
    },
    rootDir: '/r',
    enabled: true,
    idsPerPod: 65_536,
    maxPods: 110,
    idRange: async () => everything,
    ...over,
  });
}

describe('who asks for nothing of its own', () => {
  test('runs as the node', async () => {
    expect(await rig().of(aPod(), '', signal)).toEqual(onNode);
    expect(await rig().of(aPod({ hostUsers: true }), '', signal)).toEqual(onNode);
  });
  test('without the gate the runtime is told nothing, and who asks is refused', async () => {
    const off = rig(undefined, { enabled: false });
    expect(await off.of(aPod(), '', signal)).toBeUndefined();
    await expect(off.of(aPod({ hostUsers: true }), '', signal)).rejects.toThrow(
      'the feature gate "UserNamespacesSupport" is disabled: can\'t set spec.HostUsers',
    );
  });
});

describe('ranges', () => {
  test('each pod has one of its own, and keeps it', async () => {
    const disk = new Map<string, string>();
    const users = rig(disk);
    expect(await users.of(wants('a'), '', signal)).toEqual(own(65_536));
    expect(await users.of(wants('b'), '', signal)).toEqual(own(131_072));
    expect(await users.of(wants('a'), '', signal)).toEqual(own(65_536));
    expect(disk.get('/r/pods/a/userns')).toBe(text(65_536));
  });
  test('two at once get two', async () => {
    const users = rig();
    const got = await Promise.all(['a', 'b', 'c'].map((uid) => users.of(wants(uid), '', signal)));
    expect(got).toEqual([own(65_536), own(131_072), own(196_608)]);
  });
  test('one that was given back is given again', async () => {
    const users = rig();
    await users.of(wants('a'), '', signal);
    users.release('a');
    expect(await users.of(wants('b'), '', signal)).toEqual(own(65_536));
  });
  test('the next life knows what the last one gave away', async () => {
    const disk = new Map([
      ['/r/pods/x/userns', text(65_536)],
      ['/r/pods/y/other', ''],
    ]);
    const users = rig(disk);
    expect(await users.of(wants('n'), '', signal)).toEqual(own(131_072));
    expect(await users.of(wants('x'), '', signal)).toEqual(own(65_536));
  });
  test('a file that makes no sense keeps everybody from getting a range, until it is gone', async () => {
    const disk = new Map([['/r/pods/x/userns', '{']]);
    const users = rig(disk);
    await expect(users.of(wants('n'), '', signal)).rejects.toThrow('user namespace mappings of pod "x"');
    disk.delete('/r/pods/x/userns');
    expect(await users.of(wants('n'), '', signal)).toEqual(own(65_536));
  });
  test('a range that could not be written down is not given', async () => {
    let full = true;
    const disk = new Map<string, string>();
    const files = {
      listNames: async () => [],
      makeDirectory: async () => false,
      readTextIfAny: async () => undefined,
      writeText: async (path: string, content: string) => {
        if (full) throw new KubeletError('internal', 'FailedWrite', 'no space left');
        disk.set(path, content);
      },
    };
    const users = rig(disk, { files });
    await expect(users.of(wants('a'), '', signal)).rejects.toThrow('create user namespace: no space left');
    full = false;
    expect(await users.of(wants('b'), '', signal)).toEqual(own(65_536));
  });
});

describe('what the machine keeps for pods', () => {
  const given = async (first: number, length: number, idsPerPod = 65_536, maxPods = 2): Promise<unknown> =>
    await rig(undefined, { idRange: async () => ({ first, length }), idsPerPod, maxPods }).of(
      wants('a'),
      '',
      signal,
    );
  test('is given from its beginning', async () => {
    expect(await given(196_608, 131_072)).toEqual(own(196_608));
  });
  test('runs out', async () => {
    const users = rig(undefined, { idRange: async () => ({ first: 65_536, length: 131_072 }), maxPods: 2 });
    for (const uid of ['a', 'b']) await users.of(wants(uid), '', signal);
    await expect(users.of(wants('c'), '', signal)).rejects.toThrow('could not find an empty slot');
  });
  const bad: readonly (readonly [string, Parameters<typeof given>, string])[] = [
    ['not in units', [65_536, 131_072, 65_537], 'is not a multiple of 65536'],
    ['not on a boundary', [65_537, 131_072], 'kubelet user assigned ID 65537 is not a multiple of 65536'],
    ["the node's own", [0, 131_072], 'must be greater or equal to 65536'],
    ['a piece too much', [65_536, 131_073], 'IDs length 131073 is not a multiple of 65536'],
    ['too few', [65_536, 65_536], 'kubelet user assigned IDs are not enough to support 2 pods'],
  ];
  for (const [name, range, want] of bad) test(name, () => expect(given(...range)).rejects.toThrow(want));
});

describe('runtimes that cannot', () => {
  const cases: readonly (readonly [string, object[], string, string])[] = [
    ['say so', [{ name: '', features: {} }], '', 'runtime does not support user namespaces'],
    ['say nothing', [], '', 'runtime does not support user namespaces'],
    [
      'of a class',
      [{ name: 'kata', features: {} }],
      'kata',
      'RuntimeClass handler "kata" does not support user namespaces',
    ],
    ['are not known', [{ name: 'x' }], 'kata', 'the handler "kata" is not known'],
  ];
  for (const [name, handlers, handler, want] of cases) {
    test(name, () =>
      expect(rig(undefined, {}, handlers).of(wants('a'), handler, signal)).rejects.toThrow(want),
    );
  }
});

describe('parseMappings', () => {
  const bad: readonly (readonly [string, string, string])[] = [
    ['no JSON', '{', 'invalid file'],
    ['null', 'null', 'exactly one mapping'],
    ['none', '{}', 'exactly one mapping'],
    ['groups differ', JSON.stringify({ uidMappings: [range(65_536)] }), 'should be identical'],
    ['below the first', text(0), 'out of range'],
    ['past the last', text(2 ** 32), 'out of range'],
    ['not on a boundary', text(65_537), 'wrong user namespace offset'],
    [
      'another length',
      text(65_536).replaceAll('"length":65536', '"length":1'),
      'wrong user namespace length 1',
    ],
    [
      'root not mapped',
      text(65_536).replaceAll('"containerId":0', '"containerId":1'),
      'UID 0 must be mapped',
    ],
  ];
  for (const [name, content, want] of bad)
    test(name, () => expect(() => parseMappings(content, 'u', 65_536, everything)).toThrow(want));
  test('upstream writes the same', () =>
    expect(parseMappings(text(131_072), 'u', 65_536, everything)).toBe(131_072));
});
