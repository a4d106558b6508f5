// On directories: like cgroups they go away only when nothing is in them, children first.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { PodCgroups } from './pod-cgroups.ts';

let made: string;
beforeEach(async () => {
  made = await mkdtemp(join(tmpdir(), 'pod-cgroups-'));
});
afterEach(async () => await rm(made, { recursive: true }));

const paths = (uid: string): readonly string[] => [`kubepods/pod${uid}`, `kubepods/burstable/pod${uid}`];

test('removes the pod from every hierarchy and class, with its children, and nobody else', async () => {
  for (const path of ['cpu/kubepods/podu/c1', 'memory/kubepods/burstable/podu', 'memory/kubepods/podv']) {
    await mkdir(join(made, path), { recursive: true });
  }
  const mounts = async (): Promise<string[]> => [join(made, 'cpu'), join(made, 'memory'), join(made, 'none')];
  const cgroups = new PodCgroups({ paths, mounts });
  await cgroups.removePod('u');
  await cgroups.removePod('u');
  expect(await readdir(join(made, 'cpu/kubepods'))).toEqual([]);
  expect(await readdir(join(made, 'memory/kubepods/burstable'))).toEqual([]);
  expect(await readdir(join(made, 'memory/kubepods'))).toContain('podv');
});

test('one that is busy is a conflict to try again, and stays', async () => {
  await mkdir(join(made, 'kubepods/podu'), { recursive: true });
  await writeFile(join(made, 'kubepods/podu/busy'), '');
  const cgroups = new PodCgroups({ paths, mounts: async () => [made] });
  await expect(cgroups.removePod('u')).rejects.toMatchObject({ kind: 'conflict', reason: 'CgroupBusy' });
  expect(await readdir(join(made, 'kubepods/podu'))).toEqual(['busy']);
});

test('mounts are read once, unless reading failed', async () => {
  let reads = 0;
  const cgroups = new PodCgroups({
    paths,
    mounts: async () => {
      reads += 1;
      if (reads === 1) throw new Error('not now');
      return [made];
    },
  });
  await expect(cgroups.removePod('u')).rejects.toThrow('not now');
  await cgroups.removePod('u');
  await cgroups.removePod('u');
  expect(reads).toBe(2);
});

test("kills what runs in a container's cgroup, and nothing beside it", async () => {
  const mount = await mkdtemp(join(tmpdir(), 'cgroup-kill-'));
  const inside = spawn('sleep', ['60']);
  const beside = spawn('sleep', ['60']);
  try {
    for (const [name, child] of [
      ['c1', inside],
      ['c2', beside],
    ] as const) {
      await mkdir(join(mount, 'kubepods/podu', name), { recursive: true });
      await writeFile(join(mount, 'kubepods/podu', name, 'cgroup.procs'), `${child.pid}\n`);
    }
    const cgroups = new PodCgroups({ paths: (uid) => [`kubepods/pod${uid}`], mounts: async () => [mount] });
    const ended = once(inside, 'exit');
    await cgroups.killContainer('u', 'c1');
    expect((await ended)[1]).toBe('SIGKILL');
    expect(beside.exitCode).toBeNull();
    await cgroups.killContainer('u', 'missing');
  } finally {
    inside.kill('SIGKILL');
    beside.kill('SIGKILL');
    await rm(mount, { recursive: true });
  }
});
