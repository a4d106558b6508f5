import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, readlink, rename, rm, stat, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { realClock } from '../../base/clock.ts';
import { acquireLockFile, type Contention, type HeldLock, watchLockFile } from './lock-file.ts';

describe('lock file', () => {
  let directory = '';
  let path = '';
  const never = new AbortController().signal;
  const opened: { close(): void }[] = [];

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'startup-lock-'));
    path = join(directory, 'kubelet.lock');
  });
  afterEach(async () => {
    for (const each of opened.splice(0)) each.close();
    await rm(directory, { recursive: true });
  });

  async function acquire(clock = realClock, signal = never, onWait?: () => void): Promise<HeldLock> {
    const lock = await acquireLockFile(path, {
      clock,
      signal,
      ...(onWait === undefined ? {} : { onWait }),
    });
    opened.push(lock);
    return lock;
  }

  test('is created with mode 0600 and locked against other processes', async () => {
    await acquire();
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await flockByOtherProcess(path)).toBe('rejected');
  });

  test('is released by close, which may be called twice', async () => {
    const lock = await acquire();
    lock.close();
    lock.close();
    await expect.poll(() => flockByOtherProcess(path)).toBe('acquired');
  });

  test('reports once that it waits, and acquires the lock when its holder ends', async () => {
    const holder = spawn('flock', ['--no-fork', path, 'sh', '-c', 'echo held; exec sleep 60']);
    await once(holder.stdout, 'data');
    const clock = new FakeClock();
    let waits = 0;
    const acquiring = acquire(clock, never, () => waits++);
    await expect.poll(() => clock.pendingTimers()).toBe(1);
    for (let i = 0; i < 5; i++) await clock.advance(100);
    expect(waits).toBe(1);
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    await clock.advance(100);
    await acquiring;
    expect(await flockByOtherProcess(path)).toBe('rejected');
  });

  test('gives up on abort and leaves no descriptor behind', async () => {
    await acquire();
    const stop = new AbortController();
    const clock = new FakeClock();
    const acquiring = acquire(clock, stop.signal);
    await expect.poll(() => clock.pendingTimers()).toBe(1);
    expect(await descriptorsOf(path)).toBe(2);
    stop.abort(new Error('stopping'));
    await expect(acquiring).rejects.toThrow('stopping');
    expect(await descriptorsOf(path)).toBe(1);
    expect(clock.pendingTimers()).toBe(0);
  });

  test('names a path whose directory is missing', async () => {
    path = join(directory, 'missing', 'kubelet.lock');
    await expect(acquire()).rejects.toMatchObject({
      kind: 'not-found',
      reason: 'ENOENT',
      message: `cannot open lock file ${path}`,
    });
  });

  const contentions: readonly (readonly [string, (path: string) => Promise<unknown>, Contention])[] = [
    ['opens it', (file) => run('sh', ['-c', 'exec 3<"$0"', file]), 'opened'],
    ['waits for its lock', (file) => run('flock', ['-w', '0.01', file, 'true']), 'opened'],
    ['deletes it while it is held', (file) => unlink(file), 'deleted'],
    [
      'puts another file in its place',
      (file) => run('sh', ['-c', 'touch "$0.new"; mv "$0.new" "$0"', file]),
      'deleted',
    ],
    ['moves it away', (file) => rename(file, `${file}.old`), 'moved'],
  ];
  for (const [name, act, want] of contentions) {
    test(`contention: another process ${name} → ${want}, reported once`, async () => {
      await acquire();
      const reported: Contention[] = [];
      opened.push(await watchLockFile(path, (contention) => reported.push(contention)));
      await act(path);
      await expect.poll(() => reported).toEqual([want]);
      await run('sh', ['-c', 'true 3>>"$0"', path]);
      await realClock.sleep(20);
      expect(reported).toEqual([want]);
    });
  }

  test('contention: not reported for a stat or a change of mode', async () => {
    await acquire();
    const reported: Contention[] = [];
    opened.push(await watchLockFile(path, (contention) => reported.push(contention)));
    await chmod(path, 0o640);
    await run('stat', [path]);
    await realClock.sleep(50);
    expect(reported).toEqual([]);
    await run('sh', ['-c', 'exec 3<"$0"', path]);
    await expect.poll(() => reported).toEqual(['opened']);
  });

  test('contention: not reported after close', async () => {
    await acquire();
    const reported: Contention[] = [];
    const watch = await watchLockFile(path, (contention) => reported.push(contention));
    watch.close();
    await run('sh', ['-c', 'exec 3<"$0"', path]);
    await realClock.sleep(50);
    expect(reported).toEqual([]);
  });
});

async function flockByOtherProcess(path: string): Promise<'acquired' | 'rejected'> {
  return (await run('flock', ['-n', path, 'true'])) === 0 ? 'acquired' : 'rejected';
}

async function run(command: string, args: readonly string[]): Promise<number> {
  const child = spawn(command, args, { stdio: 'ignore' });
  const [code] = (await once(child, 'exit')) as [number];
  return code;
}

async function descriptorsOf(path: string): Promise<number> {
  const names = await readdir('/proc/self/fd');
  const targets = await Promise.all(names.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => '')));
  return targets.filter((target) => target === path).length;
}
