// Mount commands that fail, hang or cannot be run; the scripts stand for the machine's own.
import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { canMount, type MountDirectory, mountDirectory } from '../../../test/fakes/mount-directory.ts';
import { VolumeFiles } from '../volumes/volume-files.ts';

let ground: MountDirectory;
let target: string;
const request = () => ({ fsType: 'nfs', source: 's:/e', target, options: ['ro', 'vers=4.2'] });

beforeEach(async () => {
  ground = await mountDirectory();
  target = join(ground.podsDir, 'u/volumes/kubernetes.io~nfs/v');
  await mkdir(target, { recursive: true });
});
afterEach(async () => await ground.clear());

async function filesWith(script: string): Promise<VolumeFiles> {
  const command = join(ground.directory, 'command');
  await writeFile(command, `#!/bin/sh\n${script}\n`);
  await chmod(command, 0o755);
  return new VolumeFiles({
    podsDir: ground.podsDir,
    now: () => 0,
    commands: { mount: command, umount: command, stat: command },
  });
}

test('the command gets what mount(8) expects', async () => {
  const files = await filesWith(`echo "$@" > ${ground.directory}/said`);
  await files.mountWithHelper(request(), new AbortController().signal);
  expect(await readFile(join(ground.directory, 'said'), 'utf8')).toBe(
    `-t nfs -o ro,vers=4.2 -- s:/e ${target}\n`,
  );
});

test('a command that fails is quoted, in bounds', async () => {
  const files = await filesWith('echo "mount.nfs: access denied" >&2; yes | head -c 100000 >&2; exit 32');
  const failure = await files
    .mountWithHelper(request(), new AbortController().signal)
    .catch((err: Error) => err.message);
  expect(failure).toContain('ended with 32: mount.nfs: access denied');
  expect(String(failure).length).toBeLessThan(3_000);
});

test('a command that is not there says so', async () => {
  const files = new VolumeFiles({
    podsDir: ground.podsDir,
    now: () => 0,
    commands: { mount: '/nowhere/mount', umount: '/nowhere/umount', stat: '/nowhere/stat' },
  });
  await expect(files.mountWithHelper(request(), new AbortController().signal)).rejects.toMatchObject({
    reason: 'NoMountHelper',
  });
});

test('a command that hangs is killed with its children when it is given up, and nobody waits for it', async () => {
  const files = await filesWith(`sleep 1000 & echo $! > ${ground.directory}/child; wait`);
  const giveUp = new AbortController();
  const mounting = files.mountWithHelper(request(), giveUp.signal).catch((err: Error) => err.message);
  let child = '';
  while (child === '') {
    child = await readFile(join(ground.directory, 'child'), 'utf8').catch(() => '');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  giveUp.abort(new Error('given up'));
  expect(await mounting).toBe('given up');
  const isGone = async (): Promise<boolean> => {
    const state = await readFile(`/proc/${child.trim()}/stat`, 'utf8').catch(() => ') Z');
    return /\) [ZX]/.test(state);
  };
  while (!(await isGone())) await new Promise((resolve) => setTimeout(resolve, 10));
  // Already given up, nothing is begun.
  await expect(files.mountWithHelper(request(), giveUp.signal)).rejects.toThrow('given up');
});

test('a server that does not answer is not asked from this process', async () => {
  const hanging = await filesWith('sleep 1000');
  const soon = new AbortController();
  const asking = hanging.answers(target, soon.signal);
  soon.abort(new Error('too long'));
  expect(await asking).toBe(false);
  expect(await (await filesWith('exit 1')).answers(target, new AbortController().signal)).toBe(false);
  expect(await (await filesWith('exit 0')).answers(target, new AbortController().signal)).toBe(true);
});

test.runIf(canMount)('what umount cannot end is detached', async () => {
  // The first attempt fails, as when the server is gone; -f -l is done by the real command.
  const files = await filesWith('[ "$1" = -f ] && exec umount -l "$4"; echo busy >&2; exit 32');
  await files.mountTmpfs(target, 1_048_576n);
  await files.unmountWithHelper(target, new AbortController().signal);
  expect(await ground.mounts()).toEqual([]);
  // Nothing mounted: no command is run at all.
  await (await filesWith('exit 99')).unmountWithHelper(target, new AbortController().signal);
  await files.removeEmpty(target);
  await expect(stat(target)).rejects.toThrow('ENOENT');
});
