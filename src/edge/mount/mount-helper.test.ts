// Mount commands that fail, hang or cannot be run. Scripts take the place of the node's commands.
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

test('passes the arguments that mount(8) expects', async () => {
  const files = await filesWith(`echo "$@" > ${ground.directory}/args`);
  await files.mountWithHelper(request(), new AbortController().signal);
  expect(await readFile(join(ground.directory, 'args'), 'utf8')).toBe(
    `-t nfs -o ro,vers=4.2 -- s:/e ${target}\n`,
  );
});

test('reports the stderr of a failed command, truncated', async () => {
  const files = await filesWith('echo "mount.nfs: access denied" >&2; yes | head -c 100000 >&2; exit 32');
  const failure = await files
    .mountWithHelper(request(), new AbortController().signal)
    .catch((err: Error) => err.message);
  expect(failure).toContain('exited with 32: mount.nfs: access denied');
  expect(String(failure).length).toBeLessThan(3_000);
});

test('reports a missing command', async () => {
  const files = new VolumeFiles({
    podsDir: ground.podsDir,
    now: () => 0,
    commands: { mount: '/nowhere/mount', umount: '/nowhere/umount', stat: '/nowhere/stat' },
  });
  await expect(files.mountWithHelper(request(), new AbortController().signal)).rejects.toMatchObject({
    reason: 'NoMountHelper',
  });
});

test('kills a hanging command and its children on abort, without waiting for them', async () => {
  const files = await filesWith(`sleep 1000 & echo $! > ${ground.directory}/child; wait`);
  const abort = new AbortController();
  const mounting = files.mountWithHelper(request(), abort.signal).catch((err: Error) => err.message);
  let child = '';
  while (child === '') {
    child = await readFile(join(ground.directory, 'child'), 'utf8').catch(() => '');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  abort.abort(new Error('aborted'));
  expect(await mounting).toBe('aborted');
  const isGone = async (): Promise<boolean> => {
    const state = await readFile(`/proc/${child.trim()}/stat`, 'utf8').catch(() => ') Z');
    return /\) [ZX]/.test(state);
  };
  while (!(await isGone())) await new Promise((resolve) => setTimeout(resolve, 10));
  // An aborted signal starts no command.
  await expect(files.mountWithHelper(request(), abort.signal)).rejects.toThrow('aborted');
});

test('checks a server from another process, and treats a timeout as no response', async () => {
  const hanging = await filesWith('sleep 1000');
  const deadline = new AbortController();
  const answer = hanging.isResponsive(target, deadline.signal);
  deadline.abort(new Error('too long'));
  expect(await answer).toBe(false);
  expect(await (await filesWith('exit 1')).isResponsive(target, new AbortController().signal)).toBe(false);
  expect(await (await filesWith('exit 0')).isResponsive(target, new AbortController().signal)).toBe(true);
});

test.runIf(canMount)('detaches a mount that umount cannot unmount', async () => {
  // The first attempt fails, as with an unreachable server; the real command handles -f -l.
  const files = await filesWith('[ "$1" = -f ] && exec umount -l "$4"; echo busy >&2; exit 32');
  await files.mountTmpfs(target, 1_048_576n);
  await files.unmountWithHelper(target, new AbortController().signal);
  expect(await ground.mounts()).toEqual([]);
  // Without a mount no command runs.
  await (await filesWith('exit 99')).unmountWithHelper(target, new AbortController().signal);
  await files.removeEmpty(target);
  await expect(stat(target)).rejects.toThrow('ENOENT');
});
