import { expect, test } from 'vitest';
import { aSetUpRequest } from '../../../test/builders/volume-requests.ts';
import { FakeVolumeHost } from '../../../test/fakes/fake-volume-host.ts';
import type { FileKind } from '../../api/ports/volume-host.ts';
import { hostPathPlugin } from './host-path.ts';

async function tried(type: string | undefined, kind: FileKind | undefined, path = '/x/y'): Promise<string> {
  const host = new FakeVolumeHost('/root/pods');
  if (kind !== undefined) host.entries.set(path, kind);
  const hostPath = { path, ...(type === undefined ? {} : { type }) };
  const owner = { fsGroup: 7, onlyOnRootMismatch: false, user: undefined };
  const request = aSetUpRequest('host-path', { hostPath }, { owner });
  try {
    const { location } = await hostPathPlugin({ host }).setUp(request, new AbortController().signal);
    expect(location).toEqual({ kind: 'path', path });
    // The fsGroup is never applied to a path of the node.
    expect(host.owned).toEqual([]);
    return host.entries.get(path) ?? 'nothing';
  } catch (err) {
    return (err as Error).message;
  }
}

const failed = (what: string): string => `hostPath type check failed: /x/y is not ${what}`;
const cases: readonly (readonly [string | undefined, FileKind | undefined, string])[] = [
  [undefined, undefined, 'nothing'],
  ['', 'other', 'other'],
  ['Directory', 'directory', 'directory'],
  ['Directory', 'file', failed('a directory')],
  ['Directory', undefined, failed('a directory')],
  ['DirectoryOrCreate', undefined, 'directory'],
  ['DirectoryOrCreate', 'directory', 'directory'],
  ['DirectoryOrCreate', 'file', failed('a directory')],
  ['File', 'file', 'file'],
  ['File', 'directory', failed('a file')],
  ['FileOrCreate', undefined, 'file'],
  ['FileOrCreate', 'link', failed('a file')],
  ['Socket', 'socket', 'socket'],
  ['Socket', 'file', failed('a socket file')],
  ['CharDevice', 'character-device', 'character-device'],
  ['CharDevice', 'block-device', failed('a character device')],
  ['BlockDevice', 'block-device', 'block-device'],
  ['BlockDevice', undefined, failed('a block device')],
  ['Tape', 'file', 'Tape is an invalid volume type'],
  ['constructor', 'file', 'constructor is an invalid volume type'],
];
for (const [type, kind, want] of cases)
  test(`hostPath type ${type ?? 'none'} on ${kind ?? 'a missing path'}`, async () =>
    expect(await tried(type, kind)).toBe(want));

test('hostPath rejects a path with ..', async () => {
  expect(await tried('Directory', 'directory', '/x/../etc')).toContain("must not contain '..'");
});
