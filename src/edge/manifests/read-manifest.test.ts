// On a real temporary directory, as root or not.
import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { isKind } from '../../base/errors.ts';
import { listManifests, readManifestFile } from './read-manifest.ts';

let root = '';

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'read-manifest-'));
});

afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

async function kinds(path: string): Promise<unknown> {
  const listing = await listManifests(path);
  if (!('entries' in listing)) return listing.kind;
  return listing.entries.map((entry) => `${entry.path.slice(root.length + 1)} ${entry.kind}`);
}

async function stamp(path: string): Promise<string> {
  const listing = await listManifests(path);
  return 'entries' in listing ? (listing.entries[0]?.stamp ?? '') : '';
}

describe('listManifests', () => {
  test('lists files, directories, pipes, links and dangling links in order', async () => {
    await writeFile(join(root, 'b'), '');
    await writeFile(join(root, '.hidden'), '');
    await mkdir(join(root, 'a-directory'));
    await symlink('b', join(root, 'link'));
    await symlink('nowhere', join(root, 'dangling'));
    await symlink('circle', join(root, 'circle'));
    execFileSync('mkfifo', [join(root, 'pipe')]);
    expect(await kinds(root)).toEqual([
      'a-directory directory',
      'b file',
      'circle unreadable',
      'dangling missing',
      'link file',
      'pipe other',
    ]);
  });

  test('reports a single file, a missing path and a path of another type', async () => {
    await writeFile(join(root, 'file'), '');
    expect(await kinds(join(root, 'file'))).toEqual(['file file']);
    expect(await kinds(join(root, 'nothing'))).toBe('missing');
    expect(await kinds(join(root, 'file/below'))).toBe('missing');
    expect(await kinds('/dev/null')).toBe('other');
  });

  test('changes the stamp on every kind of change, and only then', async () => {
    const path = join(root, 'file');
    await writeFile(path, '1');
    const stamps = [await stamp(path)];
    expect(await stamp(path)).toBe(stamps[0]);
    await writeFile(path, '12');
    stamps.push(await stamp(path));
    await utimes(path, 1, 1);
    stamps.push(await stamp(path));
    await chmod(path, 0o600);
    stamps.push(await stamp(path));
    await writeFile(join(root, 'other'), '12');
    await utimes(join(root, 'other'), 1, 1);
    await rename(join(root, 'other'), path);
    stamps.push(await stamp(path));
    expect(new Set(stamps).size).toBe(stamps.length);
  });
});

describe('readManifestFile', () => {
  test('reads content, stamp and modification time', async () => {
    const path = join(root, 'file');
    await writeFile(path, 'content');
    const { bytes, changedAtMs, stamp: read } = await readManifestFile(path, 100);
    expect(Buffer.from(bytes).toString()).toBe('content');
    expect(read).toBe(await stamp(path));
    expect(Math.abs(Date.now() - changedAtMs)).toBeLessThan(5000);
  });

  test('reads an empty file and one of unknown size', async () => {
    await writeFile(join(root, 'empty'), '');
    expect((await readManifestFile(join(root, 'empty'), 100)).bytes).toHaveLength(0);
    const proc = await readManifestFile('/proc/self/status', 100_000);
    expect(Buffer.from(proc.bytes).toString()).toMatch(/^Name:/);
  });

  const limits = [
    [10, 10, true],
    [11, 10, false],
    [1_000_000, 10, false],
  ] as const;
  for (const [size, limit, fits] of limits)
    test(`${size} bytes ${fits ? 'fit' : 'do not fit'} into ${limit}`, async () => {
      await writeFile(join(root, 'file'), Buffer.alloc(size));
      const read = readManifestFile(join(root, 'file'), limit);
      if (fits) expect((await read).bytes).toHaveLength(size);
      else await expect(read).rejects.toThrow(`it is larger than ${limit} bytes`);
    });

  test('applies the limit to a file of unknown size', async () => {
    await expect(readManifestFile('/proc/self/status', 10)).rejects.toThrow('larger than 10 bytes');
  });

  test('rejects a file that is not regular without blocking', async () => {
    execFileSync('mkfifo', [join(root, 'pipe')]);
    const server = createServer().listen(join(root, 'socket'));
    await new Promise((resolve) => server.once('listening', resolve));
    try {
      for (const path of [join(root, 'pipe'), join(root, 'socket'), '/dev/zero', root])
        await expect(readManifestFile(path, 100)).rejects.toThrow('not a regular file');
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  });

  test('rejects with not-found for a missing file', async () => {
    const err = await readManifestFile(join(root, 'nothing'), 1).catch((caught: unknown) => caught);
    expect(isKind(err, 'not-found')).toBe(true);
  });

  test.skipIf(process.getuid?.() === 0)(
    'rejects with forbidden for a file without read permission',
    async () => {
      await writeFile(join(root, 'file'), '', { mode: 0 });
      const err = await readManifestFile(join(root, 'file'), 1).catch((caught: unknown) => caught);
      expect(isKind(err, 'forbidden')).toBe(true);
    },
  );
});
