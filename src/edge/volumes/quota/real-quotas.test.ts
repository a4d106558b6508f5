// Project quotas on real file systems. They need kernel support (CONFIG_QFMT_V2 for ext4, CONFIG_XFS_QUOTA) and mkfs; the title
// of a skipped suite names what is missing.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { link, mkdir, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { canMount } from '../../../../test/fakes/mount-directory.ts';
import { diskUsage } from '../usage/usage.ts';
import { VolumeFiles } from '../volume-files.ts';
import { loadQuotaSyscalls } from './quota-syscalls.ts';

const root = mkdtempSync(join(tmpdir(), 'real-quotas-'));
const signal = new AbortController().signal;
const first = 1_048_577;

const kinds = {
  ext4: ['mkfs.ext4', '-q', '-O', 'project,quota', '-E', 'quotatype=prjquota'],
  xfs: ['mkfs.xfs', '-q'],
} as const;

/** The mount point of such a file system, or what is missing for it. */
function mounted(kind: keyof typeof kinds): { readonly at: string } | { readonly missing: string } {
  const [program, ...args] = kinds[kind];
  const image = join(root, `${kind}.img`);
  const at = join(root, kind);
  if (!canMount) return { missing: 'root privileges are missing' };
  writeFileSync(image, '');
  truncateSync(image, 512 << 20);
  mkdirSync(at);
  const mkfs = spawnSync(program, [...args, image]);
  if (mkfs.status !== 0) return { missing: `${program} is missing or fails` };
  const mount = spawnSync('mount', ['-o', 'loop,prjquota', image, at]);
  return mount.status === 0 ? { at } : { missing: 'kernel support is missing' };
}

const grounds = Object.keys(kinds).map((kind) => ({ kind, ...mounted(kind as keyof typeof kinds) }));
afterAll(() => {
  for (const ground of grounds) if ('at' in ground) execFileSync('umount', [ground.at]);
  rmSync(root, { recursive: true });
});

test.skipIf(!existsSync('/proc'))('isCounting is false on file systems without quotas', async () => {
  const calls = await loadQuotaSyscalls();
  for (const path of ['/proc', '/dev/shm']) {
    const directory = await open(path);
    expect(await calls.isCounting(directory.fd)).toBe(false);
    await directory.close();
  }
});

for (const ground of grounds) {
  const why = 'missing' in ground ? ` (skipped: ${ground.missing})` : '';
  describe.skipIf('missing' in ground)(`${ground.kind}${why}`, () => {
    const base = 'at' in ground ? ground.at : '';
    const podsDir = join(base, 'pods');
    const volume = join(podsDir, 'u/volumes/v');
    const projects = {
      projects: join(root, `${ground.kind}-projects`),
      names: join(root, `${ground.kind}-projid`),
    };
    const begin = (): VolumeFiles => new VolumeFiles({ podsDir, now: () => 0, projects });
    const settle = (): void => void execFileSync('sync', ['-f', base]);
    let files = begin();

    test('measures what containers write, as a walk would', async () => {
      await files.makeDirectory(volume, 0o777);
      expect(await files.countByProject(volume)).toBe(true);
      await mkdir(join(volume, 'a/b'), { recursive: true });
      await writeFile(join(volume, 'a/b/large'), Buffer.alloc(1 << 20, 1));
      for (let each = 0; each < 20; each++) await writeFile(join(volume, `a/${each}`), 'x');
      await link(join(volume, 'a/b/large'), join(volume, 'a/name'));
      settle();
      const counted = await files.usage(volume, signal);
      expect(counted).toEqual({ ...(await diskUsage(volume, signal)), source: 'fsquota' });
      expect(counted.inodes).toBe(24);
    });

    test('measures volumes separately and limits nothing', async () => {
      const other = join(podsDir, 'u/volumes/w');
      await files.makeDirectory(other, 0o777);
      expect(await files.countByProject(other)).toBe(true);
      await writeFile(join(other, 'f'), Buffer.alloc(64 << 20, 1));
      settle();
      expect((await files.usage(other, signal)).bytes).toBeGreaterThanOrEqual(64 << 20);
      expect((await files.usage(volume, signal)).bytes).toBeLessThan(2 << 20);
      await files.endCounting(other);
      await files.removeVolume(other, 'empty');
    });

    test('recognises the volume after a kubelet restart', async () => {
      files = begin();
      expect((await files.usage(volume, signal)).source).toBe('du');
      expect(await files.countByProject(volume)).toBe(true);
      expect((await files.usage(volume, signal)).source).toBe('fsquota');
    });

    test('reuses the ID only when nothing has it any more', async () => {
      await files.endCounting(volume);
      expect(await readFile(projects.projects, 'utf8')).toBe('');
      const next = join(podsDir, 'u/volumes/next');
      await files.makeDirectory(next, 0o777);
      await files.countByProject(next);
      expect(await readFile(projects.projects, 'utf8')).toBe(`${first + 1}:${next}\n`);
      for (const path of [volume, next]) {
        await files.endCounting(path);
        await files.removeVolume(path, 'empty');
      }
      settle();
      await files.makeDirectory(next, 0o777);
      await files.countByProject(next);
      expect(await readFile(projects.projects, 'utf8')).toBe(`${first}:${next}\n`);
      await rm(next, { recursive: true });
    });
  });
}
