import { appendFileSync, chmodSync, chownSync, lstatSync, readFileSync, statSync } from 'node:fs';
import {
  link,
  mkdir,
  mkdtemp,
  readdir,
  rename,
  rm,
  symlink,
  truncate,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RotationFiles } from './rotation-files.ts';

let root = '';
let path = '';
let files: RotationFiles;
let stop: AbortController;
const rotated = '0.log.20261118-130000';

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'rotation-'));
  path = join(root, 'pods', 'ns_pod_uid', 'c', '0.log');
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, 'one\n');
  files = new RotationFiles(join(root, 'pods'));
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort();
  await rm(root, { recursive: true, force: true });
});

const at = (name: string): string => join(dirname(path), name);

async function inDirectory<T>(
  act: (directory: NonNullable<Awaited<ReturnType<RotationFiles['openDirectory']>>>) => Promise<T>,
): Promise<T> {
  const directory = await files.openDirectory(path);
  if (directory === undefined) throw new Error('no directory');
  try {
    return await act(directory);
  } finally {
    directory.close();
  }
}

describe('the current file', () => {
  test('has its size, also after it was renamed, and knows that it was deleted', async () => {
    const live = await files.openLive(path);
    expect(live?.stat()).toEqual({ bytes: 4, hasName: true });
    await rename(path, at(rotated));
    appendFileSync(at(rotated), 'two\n');
    expect(live?.stat()).toEqual({ bytes: 8, hasName: true });
    await unlink(at(rotated));
    expect(live?.stat().hasName).toBe(false);
    live?.close();
  });

  test('is undefined if it or its directory is missing', async () => {
    expect(await files.openLive(at('1.log'))).toBeUndefined();
    expect(await files.openLive(join(root, 'pods', 'x', 'c', '0.log'))).toBeUndefined();
    expect(await files.openDirectory(join(root, 'pods', 'x', 'c', '0.log'))).toBeUndefined();
  });

  const changes = [
    ['a write', () => appendFileSync(path, 'x')],
    ['a rename', () => rename(path, at(rotated))],
    ['a deletion', () => unlink(path)],
  ] as const;
  for (const [what, change] of changes)
    test(`notifies ${what} once`, async () => {
      await files.start(stop.signal);
      const live = await files.openLive(path);
      let events = 0;
      await new Promise<void>((resolve) => {
        const watch = live?.whenWritten(() => {
          events += 1;
          resolve();
        });
        expect(watch).toBeDefined();
        void change();
      });
      if (what === 'a write') for (let i = 0; i < 100; i++) appendFileSync(path, 'y');
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(events).toBe(1);
      live?.close();
    });

  test('can be watched again, and not without inotify', async () => {
    const live = await files.openLive(path);
    expect(live?.whenWritten(() => undefined)).toBeUndefined();
    await files.start(stop.signal);
    const events: string[] = [];
    live?.whenWritten(() => events.push('closed'))?.close();
    for (const name of ['first', 'second'])
      await new Promise<void>((resolve) => {
        live?.whenWritten(() => {
          events.push(name);
          resolve();
        });
        appendFileSync(path, 'x');
      });
    expect(events).toEqual(['first', 'second']);
    live?.close();
  });
});

describe('hostile directories', () => {
  test('a link in the place of the log is refused', async () => {
    await writeFile(join(root, 'secret'), 'secret');
    await unlink(path);
    await symlink(join(root, 'secret'), path);
    await expect(files.openLive(path)).rejects.toMatchObject({ reason: 'NotAFile' });
    expect(await inDirectory((directory) => directory.list())).toEqual([]);
  });

  test('a link in the place of the directory is refused', async () => {
    await mkdir(join(root, 'outside'));
    await writeFile(join(root, 'outside', '0.log'), 'x');
    await rm(dirname(path), { recursive: true });
    await symlink(join(root, 'outside'), dirname(path));
    await expect(files.openLive(path)).rejects.toMatchObject({ reason: 'LinkLeadsOut' });
    await expect(files.openDirectory(path)).rejects.toMatchObject({ reason: 'LinkLeadsOut' });
  });

  test('a path outside the directory of logs is refused', async () => {
    for (const outside of [
      '/etc/passwd',
      join(root, 'pods', '..', 'x', 'c', '0.log'),
      `${root}/pods/../x/c/0.log`,
    ])
      await expect(files.openLive(outside)).rejects.toMatchObject({ reason: 'NotALog' });
  });

  test("the directory of logs itself may be an administrator's link", async () => {
    await symlink(join(root, 'pods'), join(root, 'linked'));
    const linked = new RotationFiles(join(root, 'linked'));
    const live = await linked.openLive(path.replace('/pods/', '/linked/'));
    expect(live?.stat().bytes).toBe(4);
    live?.close();
  });

  test('a rotated file that is a link is neither compressed nor listed', async () => {
    await writeFile(join(root, 'secret'), 'secret');
    await symlink(join(root, 'secret'), at(rotated));
    await inDirectory(async (directory) => {
      expect((await directory.list()).map(({ name }) => name)).toEqual(['0.log']);
      await expect(directory.compress(rotated, `${rotated}.tmp`, stop.signal)).rejects.toThrow(
        'it is a link',
      );
    });
    expect(await readdir(dirname(path))).toEqual(['0.log', rotated]);
  });

  test('a temporary file that exists is not written to', async () => {
    await writeFile(join(root, 'victim'), 'victim');
    await rename(path, at(rotated));
    await symlink(join(root, 'victim'), at(`${rotated}.tmp`));
    await inDirectory(async (directory) => {
      await expect(directory.compress(rotated, `${rotated}.tmp`, stop.signal)).rejects.toMatchObject({
        reason: 'EEXIST',
      });
    });
    expect(readFileSync(join(root, 'victim'), 'utf8')).toBe('victim');
  });
});

describe('a directory of logs', () => {
  test('lists the files of its log only', async () => {
    for (const name of [rotated, `${rotated}_001.gz`, `${rotated}.tmp`, '1.log', '0.log.bak', '0.logx'])
      await writeFile(at(name), '');
    const names = await inDirectory(async (directory) => (await directory.list()).map(({ name }) => name));
    expect(names.toSorted()).toEqual(['0.log', rotated, `${rotated}.tmp`, `${rotated}_001.gz`]);
  });

  test('moves back only if the name is free', async () => {
    await inDirectory(async (directory) => {
      await directory.move('0.log', rotated);
      expect(await directory.moveBack(rotated, '0.log')).toBe(true);
      await directory.move('0.log', rotated);
      await writeFile(path, 'new');
      expect(await directory.moveBack(rotated, '0.log')).toBe(false);
    });
    expect([readFileSync(path, 'utf8'), readFileSync(at(rotated), 'utf8')]).toEqual(['new', 'one\n']);
    expect(lstatSync(at(rotated)).nlink).toBe(1);
  });

  test('compresses a large file with its mode and owner', async () => {
    const line = `${'x'.repeat(99)}\n`;
    await writeFile(at(rotated), line.repeat(50_000));
    chmodSync(at(rotated), 0o640);
    if (process.getuid?.() === 0) chownSync(at(rotated), 12, 34);
    const before = statSync(at(rotated));
    await inDirectory((directory) => directory.compress(rotated, `${rotated}.tmp`, stop.signal));
    const after = statSync(at(`${rotated}.tmp`));
    expect([after.mode, after.uid, after.gid]).toEqual([before.mode, before.uid, before.gid]);
    expect(gunzipSync(readFileSync(at(`${rotated}.tmp`))).toString()).toBe(line.repeat(50_000));
  });

  test('leaves nothing of a compression that is aborted', async () => {
    await writeFile(at(rotated), '');
    await truncate(at(rotated), 2 * 1024 ** 3);
    const running = inDirectory((directory) => directory.compress(rotated, `${rotated}.tmp`, stop.signal));
    setTimeout(() => stop.abort(), 50);
    await expect(running).rejects.toMatchObject({ name: 'AbortError' });
    expect(await readdir(dirname(path))).toEqual(['0.log', rotated]);
  });

  test('ignores a second name that was not the log', async () => {
    await link(path, at('0.log.copy'));
    const names = await inDirectory(async (directory) => (await directory.list()).map(({ name }) => name));
    expect(names).toEqual(['0.log']);
  });
});
