import { lstat, mkdir, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { canMount, type MountDirectory, mountDirectory } from '../../../test/fakes/mount-directory.ts';
import type { Content } from '../../api/ports/volume-host.ts';
import { diskCalls, memoryCalls } from './file-calls.ts';
import { VolumeFiles } from './volume-files.ts';
import { validPath, writeContent } from './write-content.ts';

const content = (files: Readonly<Record<string, string>>, mode = 0o644): Content =>
  new Map(Object.entries(files).map(([path, text]) => [path, { data: Buffer.from(text), mode }]));

const rejected = [
  ['', 'must not be empty'],
  ['/etc/passwd', 'must be relative'],
  ['../up', "must not contain '..'"],
  ['a/../../up', "must not contain '..'"],
  ['..data', "must not start with '..'"],
  ['./..data', "must not start with '..'"],
  ['...dots', "must not start with '..'"],
  ['.', 'must name a file'],
  ['a'.repeat(256), 'filenames must be'],
  ['a/'.repeat(2_100), 'must be less than'],
  ['a\0b', 'NUL'],
] as const;
for (const [path, why] of rejected)
  test(`validPath rejects ${JSON.stringify(path.slice(0, 20))}`, () =>
    expect(() => validPath(path)).toThrow(why));
for (const [path, want] of [
  ['a', 'a'],
  ['a//b/./c', 'a/b/c'],
] as const)
  test(`validPath accepts ${path}`, () => expect(validPath(path)).toBe(want));

const versions = [
  ['with pool calls', diskCalls],
  ['with synchronous calls', memoryCalls],
] as const;
describe.each(versions)('%s', (_, calls) => {
  let ground: MountDirectory;
  let dir: string;
  let ownerships = 0;
  const hooks = {
    calls,
    isNew: false,
    now: () => Date.UTC(2026, 10, 16, 17, 4, 5),
    setOwnership: async () => void ownerships++,
  };

  beforeEach(async () => {
    ground = await mountDirectory();
    dir = join(ground.podsDir, 'u/volumes/v');
    ownerships = 0;
    await mkdir(dir, { recursive: true });
  });
  afterEach(async () => await ground.clear());

  const seen = async (): Promise<Record<string, string>> => {
    const names = (await readdir(dir)).filter((name) => !name.startsWith('..'));
    const entries = await Promise.all(
      names.map(async (name) => [name, await readlink(join(dir, name))] as const),
    );
    return Object.fromEntries(entries);
  };
  const stamped = async (): Promise<readonly string[]> =>
    (await readdir(dir)).filter((name) => /^\.\.\d/.test(name));

  test('writes upstream’s layout: links to ..data, which links to a stamped directory', async () => {
    expect(await writeContent(dir, content({ a: '1', 'sub/b': '2', 'sub/c/d': '3' }), hooks)).toBe(true);
    expect(await seen()).toEqual({ a: '..data/a', sub: '..data/sub' });
    expect(await readlink(join(dir, '..data'))).toMatch(/^\.\.2026_11_16_17_04_05\./);
    expect(await readFile(join(dir, 'sub/c/d'), 'utf8')).toBe('3');
    expect((await lstat(join(dir, '..data/a'))).mode & 0o777).toBe(0o644);
    expect((await lstat(join(dir, await readlink(join(dir, '..data'))))).mode & 0o777).toBe(0o755);
  });

  test('skips unchanged content; changed content swaps the link and removes the old version', async () => {
    await writeContent(dir, content({ a: '1', gone: 'x', 'old/b': 'y' }), hooks);
    const first = await readlink(join(dir, '..data'));
    expect(await writeContent(dir, content({ a: '1', gone: 'x', 'old/b': 'y' }), hooks)).toBe(false);
    expect(await readlink(join(dir, '..data'))).toBe(first);
    expect(await writeContent(dir, content({ a: '2' }), hooks)).toBe(true);
    expect(await readFile(join(dir, 'a'), 'utf8')).toBe('2');
    expect(await seen()).toEqual({ a: '..data/a' });
    expect(await stamped()).toEqual([await readlink(join(dir, '..data'))]);
    expect(ownerships).toBe(2);
  });

  test('writes again if a key or its directory was removed', async () => {
    await writeContent(dir, content({ a: '1', b: '2' }), hooks);
    expect(await writeContent(dir, content({ a: '1' }), hooks)).toBe(true);
    expect(await writeContent(dir, new Map(), hooks)).toBe(true);
    expect(await seen()).toEqual({});
  });

  test('recovers from a write that was killed at any step', async () => {
    await writeContent(dir, content({ a: '1' }), hooks);
    await mkdir(join(dir, '..2026_01_01_00_00_00.abandoned/deep'), { recursive: true });
    await symlink('..2026_01_01_00_00_00.abandoned', join(dir, '..data_tmp'));
    expect(await writeContent(dir, content({ a: '2' }), hooks)).toBe(true);
    expect(await readFile(join(dir, 'a'), 'utf8')).toBe('2');
    expect(await stamped()).toEqual([await readlink(join(dir, '..data'))]);
  });

  test('writes the same layout to a new directory, without the swap that only readers need', async () => {
    const files = content({ a: '1', 'sub/b': '2' });
    expect(await writeContent(dir, files, { ...hooks, isNew: true })).toBe(true);
    expect(await seen()).toEqual({ a: '..data/a', sub: '..data/sub' });
    expect((await readdir(dir)).sort()).toEqual([...(await stamped()), '..data', 'a', 'sub'].sort());
    expect(await readFile(join(dir, 'sub/b'), 'utf8')).toBe('2');
    expect(await writeContent(dir, files, hooks)).toBe(false);
  });

  test('leaves nothing visible after a failure in a new directory, and recovers with the next write', async () => {
    const failing = { ...hooks, isNew: true, setOwnership: () => Promise.reject(new Error('no')) };
    await expect(writeContent(dir, content({ a: '1', b: '2' }), failing)).rejects.toThrow('no');
    expect(await readdir(dir)).toEqual([]);
    expect(await writeContent(dir, content({ a: '1' }), hooks)).toBe(true);
    expect(await seen()).toEqual({ a: '..data/a' });
  });

  test('recovers from a killed write to a new directory, including owners and modes', async () => {
    // A kill leaves a prefix of the steps of a complete write. `..data` is created after the ownership is set.
    const files = content({ a: '1', 'sub/b': '2' });
    const cuts: readonly (readonly string[])[] = [['sub'], ['a'], ['..data']];
    await writeContent(dir, files, { ...hooks, isNew: true });
    for (const [at] of cuts.entries()) {
      for (const name of cuts.slice(0, at + 1).flat()) await rm(join(dir, name), { force: true });
      ownerships = 0;
      await writeContent(dir, files, hooks);
      expect(await seen()).toEqual({ a: '..data/a', sub: '..data/sub' });
      expect(await readFile(join(dir, 'sub/b'), 'utf8')).toBe('2');
      // Without the link it is unknown whether the ownership was set, so the files are written again.
      expect(ownerships).toBe(at === 2 ? 1 : 0);
      expect(await stamped()).toHaveLength(1);
    }
  });

  test('keeps the old version and removes the new one after a failure before the swap', async () => {
    await writeContent(dir, content({ a: '1' }), hooks);
    const failing = { ...hooks, setOwnership: () => Promise.reject(new Error('no')) };
    await expect(writeContent(dir, content({ a: '2' }), failing)).rejects.toThrow('no');
    expect(await readFile(join(dir, 'a'), 'utf8')).toBe('1');
    expect(await stamped()).toHaveLength(1);
  });

  test('does not follow a ..data link that points outside', async () => {
    const victim = join(ground.directory, 'victim');
    await mkdir(victim);
    await writeFile(join(victim, 'keep'), 'me');
    await symlink(victim, join(dir, '..data'));
    await writeContent(dir, content({ a: '1' }), hooks);
    expect(await readFile(join(victim, 'keep'), 'utf8')).toBe('me');
    expect(await readFile(join(dir, 'a'), 'utf8')).toBe('1');
  });

  test.runIf(canMount)(
    'keeps the old content when the disk is full, and writes the new one when there is space',
    async () => {
      const files = new VolumeFiles({ podsDir: ground.podsDir, now: hooks.now });
      await files.mountTmpfs(dir, 64n * 1_024n);
      const options = { fsGroup: undefined, nested: [], isNew: false, inMemory: calls === memoryCalls };
      await files.writeContent(dir, content({ a: 'small' }), options);
      const large = content({ a: 'x'.repeat(50_000), b: 'y'.repeat(50_000) });
      await expect(files.writeContent(dir, large, options)).rejects.toMatchObject({ reason: 'ENOSPC' });
      expect(await readFile(join(dir, 'a'), 'utf8')).toBe('small');
      expect(await stamped()).toHaveLength(1);
      await files.writeContent(dir, content({ a: 'z' }), options);
      expect(await readFile(join(dir, 'a'), 'utf8')).toBe('z');
    },
  );

  test.runIf(canMount)(
    'sets owner, mode and group: a token belongs to its user and is readable by the group',
    async () => {
      const files = new VolumeFiles({ podsDir: ground.podsDir, now: hooks.now });
      const inMemory = calls === memoryCalls;
      if (inMemory) await files.mountTmpfs(dir, 1_048_576n);
      const options = { fsGroup: 2000, nested: ['mnt/point'], isNew: true, inMemory };
      const token: Content = new Map([['token', { data: Buffer.from('t'), mode: 0o600, owner: 1000 }]]);
      await files.writeContent(dir, token, options);
      const file = await lstat(join(dir, '..data/token'));
      expect([file.uid, file.gid, file.mode & 0o7777]).toEqual([1000, 2000, 0o640]);
      const root = await lstat(dir);
      expect([root.gid, root.mode & 0o2050]).toEqual([2000, 0o2050]);
      expect((await lstat(join(dir, 'mnt/point'))).isDirectory()).toBe(true);
    },
  );
});
