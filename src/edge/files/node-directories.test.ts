import { chmod, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createNodeDirectories, type NodeDirectoriesOptions, nodeDirectories } from './node-directories.ts';

function optionsIn(base: string, checkpoints = true): NodeDirectoriesOptions {
  return {
    rootDir: join(base, 'lib', 'kubelet'),
    podLogsDir: join(base, 'log', 'pods'),
    containerLogsDir: join(base, 'log', 'containers'),
    checkpoints,
  };
}

describe('nodeDirectories', () => {
  test('lists the directories with their modes, the root directory first', () => {
    expect(nodeDirectories(optionsIn('/var')).map(({ path, mode }) => `${mode.toString(8)} ${path}`)).toEqual(
      [
        '750 /var/lib/kubelet',
        '750 /var/log/pods',
        '750 /var/lib/kubelet/pods',
        '750 /var/lib/kubelet/plugins',
        '750 /var/lib/kubelet/plugins_registry',
        '750 /var/lib/kubelet/pod-resources',
        '700 /var/lib/kubelet/checkpoints',
        '755 /var/log/containers',
      ],
    );
    const without = nodeDirectories(optionsIn('/var', false));
    expect(without.some(({ path }) => path.endsWith('checkpoints'))).toBe(false);
  });
});

describe('createNodeDirectories', () => {
  let base = '';
  const options = () => optionsIn(base);

  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), 'startup-directories-'));
  });
  afterEach(() => rm(base, { recursive: true }));

  test('creates the directories with their modes, idempotently', async () => {
    await createNodeDirectories(options());
    await createNodeDirectories(options());
    const umask = await readUmask();
    for (const { path, mode } of nodeDirectories(options())) {
      const found = await stat(path);
      expect([path, found.isDirectory(), found.mode & 0o777]).toEqual([path, true, mode & ~umask]);
    }
  });

  test('keeps the mode of an existing directory', async () => {
    const { rootDir } = options();
    await mkdir(rootDir, { recursive: true });
    await chmod(rootDir, 0o711);
    await createNodeDirectories(options());
    expect((await stat(rootDir)).mode & 0o777).toBe(0o711);
  });

  test('follows links to directories on other disks', async () => {
    const disk = join(base, 'disk');
    await mkdir(join(disk, 'pods-here'), { recursive: true });
    await mkdir(join(base, 'lib'));
    await symlink(disk, options().rootDir);
    await symlink(join(disk, 'pods-here'), join(disk, 'pods'));
    await createNodeDirectories(options());
    expect((await stat(join(disk, 'plugins'))).isDirectory()).toBe(true);
    expect((await stat(join(disk, 'pods'))).isDirectory()).toBe(true);
  });

  test('names a conflicting file', async () => {
    const { rootDir } = options();
    await mkdir(rootDir, { recursive: true });
    await writeFile(join(rootDir, 'plugins'), '');
    await expect(createNodeDirectories(options())).rejects.toMatchObject({
      kind: 'conflict',
      message: `cannot create directory ${rootDir}/plugins`,
    });
  });

  test('names a dangling link', async () => {
    const { rootDir } = options();
    await mkdir(join(base, 'lib'));
    await symlink('/nowhere/at/all', rootDir);
    await expect(createNodeDirectories(options())).rejects.toMatchObject({
      message: `cannot create directory ${rootDir}, which is a link to /nowhere/at/all`,
    });
  });
});

/** process.umask() is not available in worker threads. */
async function readUmask(): Promise<number> {
  const status = await readFile('/proc/self/status', 'utf8');
  return Number.parseInt(/^Umask:\s*(\S+)/m.exec(status)?.[1] ?? '0', 8);
}
