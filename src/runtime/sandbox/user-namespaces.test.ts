import { describe, expect, test } from 'vitest';
import { aPod } from '../../../test/builders/builders.ts';
import { StatusResponse } from '../../api/cri/generated/runtime/v1/api.ts';
import { KubeletError } from '../../base/errors.ts';
import { parseMappings, UserNamespaces, type UserNamespacesDeps } from './user-namespaces.ts';

const everything = { first: 65_536, length: 2 ** 32 - 65_536 };
const { signal } = new AbortController();
const hostNamespace = { mode: 2 };
const range = (hostId: number): object => ({ hostId, containerId: 0, length: 65_536 });
const own = (hostId: number): object => ({ mode: 0, uids: [range(hostId)], gids: [range(hostId)] });
const text = (hostId: number): string =>
  JSON.stringify({ uidMappings: [range(hostId)], gidMappings: [range(hostId)] });
const withUserNamespace = (uid: string): ReturnType<typeof aPod> => aPod({ uid, hostUsers: false });

function rig(
  disk: Map<string, string> = new Map(),
  over: Partial<UserNamespacesDeps> = {},
  handlers: object[] = [{ name: '', features: { userNamespaces: true } }, { name: 'kata' }],
): UserNamespaces {
  const deps: UserNamespacesDeps = {
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
  };
  // A getter stays one.
  return new UserNamespaces(Object.defineProperties(deps, Object.getOwnPropertyDescriptors(over)));
}

describe('a pod without a user namespace', () => {
  test("uses the node's user namespace", async () => {
    expect(await rig().of(aPod(), '', signal)).toEqual(hostNamespace);
    expect(await rig().of(aPod({ hostUsers: true }), '', signal)).toEqual(hostNamespace);
  });
  test('without the gate nothing is sent, and hostUsers is rejected', async () => {
    const off = rig(undefined, { enabled: false });
    expect(await off.of(aPod(), '', signal)).toBeUndefined();
    await expect(off.of(aPod({ hostUsers: true }), '', signal)).rejects.toThrow(
      'the feature gate "UserNamespacesSupport" is disabled: can\'t set spec.HostUsers',
    );
  });
});

describe('ranges', () => {
  test('each pod has its own and keeps it', async () => {
    const disk = new Map<string, string>();
    const users = rig(disk);
    expect(await users.of(withUserNamespace('a'), '', signal)).toEqual(own(65_536));
    expect(await users.of(withUserNamespace('b'), '', signal)).toEqual(own(131_072));
    expect(await users.of(withUserNamespace('a'), '', signal)).toEqual(own(65_536));
    expect(disk.get('/r/pods/a/userns')).toBe(text(65_536));
  });
  test('two concurrent pods get two', async () => {
    const users = rig();
    const got = await Promise.all(['a', 'b', 'c'].map((uid) => users.of(withUserNamespace(uid), '', signal)));
    expect(got).toEqual([own(65_536), own(131_072), own(196_608)]);
  });
  test('a released range is reused', async () => {
    const users = rig();
    await users.of(withUserNamespace('a'), '', signal);
    users.release('a');
    expect(await users.of(withUserNamespace('b'), '', signal)).toEqual(own(65_536));
  });
  test('survive a restart of the kubelet', async () => {
    const disk = new Map([
      ['/r/pods/x/userns', text(65_536)],
      ['/r/pods/y/other', ''],
    ]);
    const users = rig(disk);
    expect(await users.of(withUserNamespace('n'), '', signal)).toEqual(own(131_072));
    expect(await users.of(withUserNamespace('x'), '', signal)).toEqual(own(65_536));
  });
  test('an invalid file blocks all allocations until it is removed', async () => {
    const disk = new Map([['/r/pods/x/userns', '{']]);
    const users = rig(disk);
    await expect(users.of(withUserNamespace('n'), '', signal)).rejects.toThrow(
      'user namespace mappings of pod "x"',
    );
    disk.delete('/r/pods/x/userns');
    expect(await users.of(withUserNamespace('n'), '', signal)).toEqual(own(65_536));
  });
  test('a range that could not be stored is not allocated', async () => {
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
    await expect(users.of(withUserNamespace('a'), '', signal)).rejects.toThrow(
      'create user namespace: no space left',
    );
    full = false;
    expect(await users.of(withUserNamespace('b'), '', signal)).toEqual(own(65_536));
  });
});

describe('the ID range of the machine', () => {
  const allocate = async (first: number, length: number, idsPerPod = 65_536, maxPods = 2): Promise<unknown> =>
    await rig(undefined, { idRange: async () => ({ first, length }), idsPerPod, maxPods }).of(
      withUserNamespace('a'),
      '',
      signal,
    );
  test('is requested and divided by idsPerPod', async () => {
    const idRange = async (first: number) => ({ first, length: 10 * first });
    const users = rig(undefined, { idRange, idsPerPod: 131_072, maxPods: 10 });
    const long = (hostId: number) => ({ hostId, containerId: 0, length: 131_072 });
    for (const [uid, hostId] of [
      ['a', 131_072],
      ['b', 262_144],
    ] as const)
      expect(await users.of(withUserNamespace(uid), '', signal)).toEqual({
        mode: 0,
        uids: [long(hostId)],
        gids: [long(hostId)],
      });
  });
  test('is allocated from its start', async () => {
    expect(await allocate(196_608, 131_072)).toEqual(own(196_608));
  });
  test('can be exhausted', async () => {
    const users = rig(undefined, { idRange: async () => ({ first: 65_536, length: 131_072 }), maxPods: 2 });
    for (const uid of ['a', 'b']) await users.of(withUserNamespace(uid), '', signal);
    await expect(users.of(withUserNamespace('c'), '', signal)).rejects.toThrow(
      'could not find an empty slot',
    );
  });
  test('must suffice for maxPods of the moment', async () => {
    const settings = { maxPods: 1 };
    const users = rig(undefined, {
      idRange: async () => ({ first: 65_536, length: 131_072 }),
      get maxPods() {
        return settings.maxPods;
      },
    });
    await users.of(withUserNamespace('a'), '', signal);
    settings.maxPods = 3;
    await expect(users.of(withUserNamespace('b'), '', signal)).rejects.toThrow(
      'not enough to support 3 pods',
    );
    expect(await users.of(withUserNamespace('a'), '', signal)).toEqual(own(65_536));
  });
  const bad: readonly (readonly [string, Parameters<typeof allocate>, string])[] = [
    ['pod length is not a multiple of the unit', [65_536, 131_072, 65_537], 'is not a multiple of 65536'],
    [
      'first ID is not a multiple of the pod length',
      [65_537, 131_072],
      'kubelet user assigned ID 65537 is not a multiple of 65536',
    ],
    ["the node's own IDs", [0, 131_072], 'must be greater or equal to 65536'],
    [
      'length is not a multiple of the pod length',
      [65_536, 131_073],
      'IDs length 131073 is not a multiple of 65536',
    ],
    [
      'too few IDs for maxPods',
      [65_536, 65_536],
      'kubelet user assigned IDs are not enough to support 2 pods',
    ],
  ];
  for (const [name, range, want] of bad) test(name, () => expect(allocate(...range)).rejects.toThrow(want));
});

describe('runtimes without user namespaces', () => {
  const cases: readonly (readonly [string, object[], string, string])[] = [
    ['report no support', [{ name: '', features: {} }], '', 'runtime does not support user namespaces'],
    ['report no handlers', [], '', 'runtime does not support user namespaces'],
    [
      'of a class',
      [{ name: 'kata', features: {} }],
      'kata',
      'RuntimeClass handler "kata" does not support user namespaces',
    ],
    ['do not have the handler', [{ name: 'x' }], 'kata', 'the handler "kata" is not known'],
  ];
  for (const [name, handlers, handler, want] of cases) {
    test(name, () =>
      expect(rig(undefined, {}, handlers).of(withUserNamespace('a'), handler, signal)).rejects.toThrow(want),
    );
  }
});

describe('parseMappings', () => {
  const bad: readonly (readonly [string, string, string])[] = [
    ['not JSON', '{', 'invalid file'],
    ['null', 'null', 'exactly one mapping'],
    ['no mapping', '{}', 'exactly one mapping'],
    ['UID and GID mappings differ', JSON.stringify({ uidMappings: [range(65_536)] }), 'should be identical'],
    ['below the range', text(0), 'out of range'],
    ['beyond the range', text(2 ** 32), 'out of range'],
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
  test("parses upstream's file", () =>
    expect(parseMappings(text(131_072), 'u', 65_536, everything)).toBe(131_072));
});
