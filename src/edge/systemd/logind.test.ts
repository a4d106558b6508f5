// Against a fake bus on a real socket; integration/graceful-shutdown.test.ts has a real D-Bus daemon and real locks.
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FakeBus } from '../../../test/fakes/fake-bus.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import type { LogindSession } from '../../api/ports/logind.ts';
import { realClock } from '../../base/clock.ts';
import { takeInhibitorLock } from './inhibitor-lock.ts';
import { logind } from './logind.ts';

describe('logind', () => {
  let directory: string;
  let bus: FakeBus;
  let sessions: LogindSession[] = [];
  const prepared: boolean[] = [];
  const configFile = (): string => join(directory, 'conf.d', '99-kubelet.conf');

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'logind-'));
    bus = new FakeBus();
    await bus.serve(join(directory, 'bus'));
    prepared.length = 0;
  });
  afterEach(async () => {
    for (const session of sessions) session.close();
    sessions = [];
    await bus.close();
    await rm(directory, { recursive: true });
  });

  async function connect(): Promise<LogindSession> {
    const busAddress = `unix:path=${join(directory, 'bus')}`;
    const edge = logind({ clock: realClock, busAddress, configFile: configFile() });
    const session = await edge.connect((active) => void prepared.push(active));
    sessions.push(session);
    return session;
  }
  const prepareForShutdown = (sender: string, active: unknown): void =>
    bus.emit({
      sender,
      path: '/org/freedesktop/login1',
      interface: 'org.freedesktop.login1.Manager',
      member: 'PrepareForShutdown',
      signature: typeof active === 'string' ? 's' : 'b',
      body: [active],
    });

  test('reads the limit and the state, also without a limit', async () => {
    const session = await connect();
    expect([await session.delayLimitMs(), await session.isPreparing()]).toEqual([5_000, false]);
    bus.properties = {
      PreparingForShutdown: ['b', true],
      InhibitDelayMaxUSec: ['t', 18_446_744_073_709_551_615n],
    };
    expect([await session.delayLimitMs(), await session.isPreparing()]).toEqual([
      Number.POSITIVE_INFINITY,
      true,
    ]);
    bus.properties = { InhibitDelayMaxUSec: ['s', 'soon'] };
    await expect(session.delayLimitMs()).rejects.toThrow('another type');
  });

  test('follows the signals of logind, and ignores those of any other client of the bus', async () => {
    const session = await connect();
    prepareForShutdown(':1.666', true);
    prepareForShutdown(bus.owner, 'true');
    prepareForShutdown(bus.owner, true);
    prepareForShutdown(':1.666', false);
    await session.isPreparing();
    expect(prepared).toEqual([true]);
    expect(bus.rules).toHaveLength(2);
  });

  const changed = (sender: string, name: string): void =>
    bus.emit({
      sender,
      path: '/org/freedesktop/DBus',
      interface: 'org.freedesktop.DBus',
      member: 'NameOwnerChanged',
      signature: 'sss',
      body: [name, ':1.7', ''],
    });

  test('ends when logind restarts, but not on the signal of another client', async () => {
    const session = await connect();
    let cause: string | undefined;
    const ended = session.ended.then((text) => (cause = text));
    changed(':1.666', 'org.freedesktop.login1');
    changed('org.freedesktop.DBus', 'org.example.other');
    await session.isPreparing();
    expect(cause).toBeUndefined();
    changed('org.freedesktop.DBus', 'org.freedesktop.login1');
    expect(await ended).toBe('systemd-logind was stopped or restarted');
  });

  test('ends when logind restarts while the session begins', async () => {
    bus.afterOwner = () => changed('org.freedesktop.DBus', 'org.freedesktop.login1');
    const session = await connect();
    expect(await session.ended).toBe('systemd-logind was stopped or restarted');
  });

  test('ends with a message that is too long, which is not decoded', async () => {
    const session = await connect();
    prepareForShutdown(':1.666', 'x'.repeat(500_000));
    expect(await session.isPreparing()).toBe(false);
    prepareForShutdown(':1.666', 'x'.repeat(2_000_000));
    expect(await session.ended).toBe('the connection to D-Bus was lost');
  });

  test('ends with the connection', async () => {
    const session = await connect();
    bus.dropClients();
    expect(await session.ended).toBe('the connection to D-Bus was lost');
    await expect(session.isPreparing()).rejects.toMatchObject({ kind: 'unavailable' });
  });

  test('gives up a lock that is not granted before the kubelet stops', async () => {
    const session = await connect();
    await expect(session.takeLock(AbortSignal.abort(new Error('stopping')))).rejects.toThrow('stopping');
  });

  test('writes the limit to a file of its own, and has logind reload', async () => {
    const session = await connect();
    await session.raiseDelayLimit(30);
    await session.raiseDelayLimit(45);
    expect(await readFile(configFile(), 'utf8')).toBe(
      '# Kubelet logind override\n[Login]\nInhibitDelayMaxSec=45\n',
    );
    expect((await stat(configFile())).mode & 0o777).toBe(0o644);
    expect((await stat(dirname(configFile()))).mode & 0o777).toBe(0o755);
    expect(await readdir(dirname(configFile()))).toEqual(['99-kubelet.conf']);
    expect(bus.calls.at(-1)).toBe('KillUnit systemd-logind.service all 1');
  });

  test('fails without logind or without a bus', async () => {
    bus.properties = {};
    await expect(connect()).rejects.toMatchObject({ reason: 'ServiceUnknown' });
    const edge = logind({ clock: realClock, busAddress: 'unix:path=/nonexistent/bus' });
    await expect(edge.connect(() => undefined)).rejects.toThrow();
  });
});

describe('takeInhibitorLock', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'inhibit-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  /** A program in the place of systemd-inhibit, whose last argument is the command to run. */
  async function program(script: string): Promise<string> {
    const path = join(directory, 'systemd-inhibit');
    await writeFile(path, `#!/bin/sh\nfor last; do :; done\n${script}\n`);
    await chmod(path, 0o755);
    return path;
  }
  const take = async (script: string) =>
    takeInhibitorLock({ clock: realClock, program: await program(script) });

  test('is held until it is released', async () => {
    const lock = await take('"$last"');
    await lock.release();
    expect(await lock.lost).toBe('systemd-inhibit ended (exit code 0)');
  });

  test('is released when its process ignores the end of its input', async () => {
    const clock = new FakeClock();
    const path = await program(`echo; exec sleep 1000`);
    const lock = await takeInhibitorLock({ clock, program: path });
    const released = lock.release();
    await clock.advance(2_000);
    await released;
    expect(await lock.lost).toBe('systemd-inhibit ended (SIGKILL)');
  });

  test('is released when the command of its process hangs', async () => {
    const clock = new FakeClock();
    const pidFile = join(directory, 'pid');
    const path = await program(`sleep 1000 & echo $! >${pidFile}; echo; wait`);
    const lock = await takeInhibitorLock({ clock, program: path });
    const released = lock.release();
    await clock.advance(2_000);
    await released;
    expect(await lock.lost).toBe('systemd-inhibit ended (SIGKILL)');
    process.kill(Number(await readFile(pidFile, 'utf8')), 'SIGKILL');
  });

  test('reports its loss', async () => {
    const lock = await take('echo; echo "lost it" >&2; exit 3');
    expect(await lock.lost).toBe('systemd-inhibit ended (exit code 3): lost it');
  });

  test('that is refused rejects with the cause, bounded', async () => {
    await expect(take('echo "Failed to inhibit: Access denied" >&2; exit 1')).rejects.toMatchObject({
      reason: 'NoInhibitorLock',
      message: 'systemd-inhibit ended (exit code 1): Failed to inhibit: Access denied',
    });
    const flood = take('head -c 100000 /dev/zero | tr "\\0" x >&2; exit 1');
    await expect(flood).rejects.toThrow(/^systemd-inhibit ended \(exit code 1\): x{4096}$/);
  });

  test('fails without systemd-inhibit', async () => {
    await expect(takeInhibitorLock({ clock: realClock, program: '/nonexistent' })).rejects.toThrow(
      'cannot run systemd-inhibit',
    );
  });

  test('that is not granted in time is given up', async () => {
    const clock = new FakeClock();
    const attempt = takeInhibitorLock({ clock, program: await program('exec sleep 1000') });
    const failed = expect(attempt).rejects.toMatchObject({ kind: 'timeout' });
    await clock.advance(10_000);
    await failed;
  });
});
