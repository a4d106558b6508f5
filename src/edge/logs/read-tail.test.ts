import { execFileSync } from 'node:child_process';
import { link, mkdir, mkdtemp, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { canMount } from '../../../test/fakes/mount-directory.ts';
import { readLogTail, readTail } from './read-tail.ts';

let dir = '';
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'read-tail-'));
  await mkdir(join(dir, 'pods/uid/containers/app'), { recursive: true });
  await mkdir(join(dir, 'logs/ns_pod_uid/app'), { recursive: true });
  await writeFile(join(dir, 'key.pem'), '-----END PRIVATE KEY-----\n');
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const kinds = [
  ['a termination message', 'pods/uid/containers/app/0a1b2c3d', readTail],
  ['a log', 'logs/ns_pod_uid/app/0.log', (path: string, bytes: number) => readLogTail(path, 'id', bytes)],
] as const;

for (const [what, name, readEnd] of kinds)
  describe(what, () => {
    const path = (): string => join(dir, name);
    const read = async (bytes: number, from = path()): Promise<unknown> => {
      const tail = await readEnd(from, bytes);
      return tail && [Buffer.from(tail.bytes).toString(), tail.whole];
    };
    const refused = async (): Promise<void> => {
      await expect(read(100)).rejects.toMatchObject({ reason: 'FailedRead' });
    };

    test('reads the last bytes and whether they are the whole file', async () => {
      await writeFile(path(), 'abcdef');
      expect(await read(3)).toEqual(['def', false]);
      expect(await read(6)).toEqual(['abcdef', true]);
      expect(await read(100)).toEqual(['abcdef', true]);
      await writeFile(path(), '');
      expect(await read(3)).toEqual(['', true]);
    });

    test('is undefined if missing, and an error if not a regular file', async () => {
      expect(await read(1)).toBeUndefined();
      await mkdir(path());
      await refused();
    });

    test('reads only the end of a large sparse file', async () => {
      await writeFile(path(), '');
      await truncate(path(), 3 * 1024 ** 3);
      expect(await read(2)).toEqual(['\0\0', false]);
    });

    test('is not read through a link, from a file with another name, from a FIFO or a device', async () => {
      await symlink(join(dir, 'key.pem'), path());
      await refused();
      await rm(path());
      await link(join(dir, 'key.pem'), path());
      await refused();
      await rm(path());
      execFileSync('mkfifo', [path()]);
      await refused();
      await rm(path());
      if (!canMount) return;
      execFileSync('mknod', [path(), 'c', '1', '5']);
      await refused();
    });

    test('is not read below a directory that was replaced by a link', async () => {
      const directory = dirname(path());
      await mkdir(join(dir, 'outside'));
      await writeFile(join(dir, 'outside', path().slice(directory.length + 1)), 'secret');
      await rm(directory, { recursive: true });
      await symlink(join(dir, 'outside'), directory);
      await refused();
    });

    test("may be below a link of the administrator's", async () => {
      await writeFile(path(), 'text');
      const [top = ''] = name.split('/');
      await symlink(join(dir, top), join(dir, 'linked'));
      expect(await read(100, join(dir, name.replace(top, 'linked')))).toEqual(['text', true]);
    });
  });
