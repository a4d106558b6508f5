// A fake kernel maps inodes to projects; the project files, directories and locks are real. Real kernels are tested in
// real-quotas.test.ts.
import { execFileSync } from 'node:child_process';
import { fstatSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { KubeletError } from '../../../base/errors.ts';
import { ProjectQuotas } from './project-quotas.ts';
import type { QuotaSyscalls } from './quota-syscalls.ts';

const first = 1_048_577;

/** A file system with project quotas. */
class FakeQuotas implements QuotaSyscalls {
  counts = true;
  refuse: string | undefined;
  readonly projects = new Map<number, number>();
  readonly held = new Map<number, { bytes: number; inodes: number }>();
  readonly cleared: number[] = [];

  async isCounting(): Promise<boolean> {
    return this.counts;
  }
  async projectOf(fd: number): Promise<number> {
    return this.projects.get(fstatSync(fd).ino) ?? 0;
  }
  async setProject(fd: number, project: number): Promise<void> {
    if (this.refuse !== undefined) throw new KubeletError('forbidden', 'EPERM', this.refuse);
    this.projects.set(fstatSync(fd).ino, project);
  }
  async counted(_: number, project: number) {
    return this.held.get(project) ?? { bytes: 0, inodes: 0 };
  }
  async clearLimits(_: number, project: number): Promise<void> {
    this.cleared.push(project);
  }
}

let directory: string;
let podsDir: string;
let volume: string;
let kernel: FakeQuotas;
let quotas: ProjectQuotas;
const paths = () => ({ projects: join(directory, 'projects'), names: join(directory, 'projid') });
const table = async (): Promise<string> => await readFile(paths().projects, 'utf8');
/** A kubelet process, without memory of earlier ones. */
const begin = (): ProjectQuotas =>
  new ProjectQuotas({ paths: paths(), podsDir, syscalls: async () => kernel });
const inodeOf = (path: string): number => Number(execFileSync('stat', ['-c', '%i', path]));

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'quotas-'));
  podsDir = join(directory, 'pods');
  volume = join(podsDir, 'u/v');
  await mkdir(volume, { recursive: true });
  kernel = new FakeQuotas();
  quotas = begin();
});
afterEach(async () => await rm(directory, { recursive: true }));

describe('project quotas', () => {
  test('assigns the first free ID to a new volume and measures it', async () => {
    expect(await quotas.count(volume)).toBe(true);
    expect(kernel.projects.get(inodeOf(volume))).toBe(first);
    expect(await table()).toBe(`${first}:${volume}\n`);
    kernel.held.set(first, { bytes: 4096, inodes: 7 });
    expect(await quotas.usage(volume)).toEqual({ bytes: 4096, inodes: 7, source: 'fsquota' });
  });

  test('assigns distinct IDs to concurrent volumes', async () => {
    const all = ['a', 'b', 'c', 'd'].map((name) => join(podsDir, name));
    await Promise.all(all.map(async (path) => await mkdir(path)));
    await Promise.all(all.map(async (path) => await quotas.count(path)));
    expect(new Set(kernel.projects.values()).size).toBe(4);
  });

  test('skips IDs that are listed or in use', async () => {
    await writeFile(paths().names, `mine:${first}\n`);
    kernel.held.set(first + 1, { bytes: 0, inodes: 1 });
    kernel.held.set(first + 2, { bytes: 4096, inodes: 0 });
    await quotas.count(volume);
    expect(kernel.projects.get(inodeOf(volume))).toBe(first + 3);
  });

  test('gives up when all candidate IDs are in use', async () => {
    for (let each = 0; each < 200; each++) kernel.held.set(first + each, { bytes: 1, inodes: 1 });
    await expect(quotas.count(volume)).rejects.toThrow('cannot find a project ID that is not in use');
    expect(await table()).toBe('');
  });

  test.each([
    ['a file system without quotas', async () => void (kernel.counts = false)],
    ['a volume that is not empty', async () => await writeFile(join(volume, 'f'), '')],
    ['a volume with a foreign project', async () => void kernel.projects.set(inodeOf(volume), 42)],
  ])('leaves %s alone', async (_, arrange) => {
    await arrange();
    const before = kernel.projects.get(inodeOf(volume));
    expect(await quotas.count(volume)).toBe(false);
    expect(kernel.projects.get(inodeOf(volume))).toBe(before);
    expect(await quotas.usage(volume)).toBeUndefined();
  });

  test('returns no usage when the file system fails, so that the volume is walked', async () => {
    await quotas.count(volume);
    kernel.counted = () => Promise.reject(new KubeletError('internal', 'EIO', 'no'));
    expect(await quotas.usage(volume)).toBeUndefined();
  });

  test('does not follow a link', async () => {
    const link = join(podsDir, 'link');
    await symlink(volume, link);
    await expect(quotas.count(link)).rejects.toMatchObject({ code: 'ENOTDIR' });
    expect(kernel.projects.size).toBe(0);
  });
});

describe('after a kubelet restart', () => {
  test('recognises a volume by its project and its table entry, whatever it contains', async () => {
    await quotas.count(volume);
    await writeFile(join(volume, 'f'), '');
    const next = begin();
    expect(await next.usage(volume)).toBeUndefined();
    expect(await next.count(volume)).toBe(true);
    expect(await next.usage(volume)).toMatchObject({ source: 'fsquota' });
    expect(await table()).toBe(`${first}:${volume}\n`);
  });

  test('resumes after an interruption between the table and the directory', async () => {
    kernel.refuse = 'cut off';
    await expect(quotas.count(volume)).rejects.toThrow('cut off');
    kernel.refuse = undefined;
    expect(await begin().count(volume)).toBe(true);
    expect(await table()).toBe(`${first}:${volume}\n`);
  });
});

describe('removal of a volume', () => {
  test('removes its entries and limits, but no others', async () => {
    await writeFile(paths().projects, '10:/srv\n');
    await quotas.count(volume);
    await quotas.end(volume);
    expect(await table()).toBe('10:/srv\n');
    expect(await readFile(paths().names, 'utf8')).toBe('');
    expect(kernel.cleared).toEqual([first]);
    expect(await quotas.usage(volume)).toBeUndefined();
  });

  test('works from the tables alone, even if the directory is missing', async () => {
    await quotas.count(volume);
    await rm(volume, { recursive: true });
    await begin().end(volume);
    expect(await table()).toBe('');
    expect(kernel.cleared).toEqual([]);
  });

  test('creates no tables if there are none', async () => {
    await quotas.end(volume);
    await expect(table()).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
