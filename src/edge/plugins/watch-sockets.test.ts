import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type FakeServer, serveRaw } from '../../../test/fakes/fake-plugin.ts';
import { checkLeaks, type LeakCheck } from '../../../test/leaks/leaks.ts';
import { realClock } from '../../base/clock.ts';
import { type LogFields, silentLogger } from '../../base/log/log.ts';
import { inspectSocket, inspectStats } from './inspect-socket.ts';
import { type PluginSockets, watchSockets } from './watch-sockets.ts';

let dir: string;
let root: string;
let leaks: LeakCheck;
let reports: PluginSockets[];
let warnings: (readonly [string, LogFields])[];
let watcher: { close(): void } | undefined;
const servers: FakeServer[] = [];

beforeEach(() => {
  leaks = checkLeaks({ settleMs: 3_000 });
  dir = mkdtempSync(join(tmpdir(), 'sockets-'));
  root = join(dir, 'plugins_registry');
  reports = [];
  warnings = [];
});

afterEach(async () => {
  watcher?.close();
  for (const server of servers.splice(0)) await server.close();
  rmSync(dir, { recursive: true });
  await leaks.assertNone();
});

/** Without `rescans` only file events lead to a scan. */
function start({ rescans = false } = {}): void {
  const log = {
    ...silentLogger,
    warn: (message: string, fields: LogFields = {}) => void warnings.push([message, fields]),
  };
  const clock = {
    ...realClock,
    setTimer: (ms: number, fn: () => void) =>
      realClock.setTimer(ms >= 1_000 ? (rescans ? 50 : Number.POSITIVE_INFINITY) : ms, fn),
  };
  watcher = watchSockets({ directory: root, clock, log, onSockets: (sockets) => void reports.push(sockets) });
}

async function socket(name: string): Promise<FakeServer> {
  const server = await serveRaw(join(root, name));
  servers.push(server);
  return server;
}

function names(): readonly string[] | undefined {
  const last = reports.at(-1);
  return last && [...last.keys()].map((path) => path.slice(root.length + 1)).toSorted();
}

const incarnation = (name: string): string | undefined => reports.at(-1)?.get(join(root, name));

describe('the watch of plugin sockets', () => {
  test('creates the directory and reports that it is empty', async () => {
    start();
    await expect.poll(names).toEqual([]);
    expect(statSync(root).mode & 0o777).toBe(0o750);
  });

  test('reports sockets that exist, at any depth, and nothing else', async () => {
    mkdirSync(join(root, 'a/b/c'), { recursive: true });
    mkdirSync(join(root, '.hidden'));
    writeFileSync(join(root, 'file.sock'), '');
    for (const name of ['x.sock', 'a/b/c/y.sock', '.z.sock', '.hidden/w.sock']) await socket(name);
    start();
    await expect.poll(names).toEqual(['a/b/c/y.sock', 'x.sock']);
    expect(warnings).toEqual([]);
  });

  test('reports a new socket, a new directory with sockets, and their removal, by events', async () => {
    start();
    await expect.poll(names).toEqual([]);
    const server = await socket('x.sock');
    await expect.poll(names).toEqual(['x.sock']);
    mkdirSync(join(root, 'new/deeper'), { recursive: true });
    await socket('new/deeper/y.sock');
    await expect.poll(names).toEqual(['new/deeper/y.sock', 'x.sock']);
    // The server removes its socket.
    await server.close();
    await expect.poll(names).toEqual(['new/deeper/y.sock']);
    rmSync(join(root, 'new'), { recursive: true });
    await expect.poll(names).toEqual([]);
  });

  test('reports a socket that is moved away or renamed', async () => {
    await startWith('x.sock');
    renameSync(join(root, 'x.sock'), join(root, 'y.sock'));
    await expect.poll(names).toEqual(['y.sock']);
    renameSync(join(root, 'y.sock'), join(dir, 'y.sock'));
    await expect.poll(names).toEqual([]);
  });

  test('a recreated socket has another incarnation, however quickly it was recreated', async () => {
    await startWith('x.sock');
    for (let round = 0; round < 10; round++) {
      const before = incarnation('x.sock');
      unlinkSync(join(root, 'x.sock'));
      await socket('x.sock');
      await expect.poll(() => incarnation('x.sock')).not.toBe(before);
    }
    expect(names()).toEqual(['x.sock']);
  });

  test('a change of the mode or of a neighbour is no new incarnation', async () => {
    await startWith('x.sock');
    const before = incarnation('x.sock');
    chmodSync(join(root, 'x.sock'), 0o700);
    await socket('y.sock');
    await expect.poll(names).toEqual(['x.sock', 'y.sock']);
    expect(incarnation('x.sock')).toBe(before);
  });

  test('notices by its scans what events do not report, and recreates the directory', async () => {
    mkdirSync(root);
    start({ rescans: true });
    await expect.poll(names).toEqual([]);
    await socket('x.sock');
    await expect.poll(names).toEqual(['x.sock']);
    rmSync(root, { recursive: true });
    await expect.poll(names).toEqual([]);
    await expect.poll(() => statSync(root, { throwIfNoEntry: false })?.isDirectory()).toBe(true);
    await socket('y.sock');
    await expect.poll(names).toEqual(['y.sock']);
  });

  test('refuses links and sockets of other users, and logs each once', async () => {
    mkdirSync(root);
    const target = await serveRaw(join(dir, 'target.sock'));
    servers.push(target);
    symlinkSync(join(dir, 'target.sock'), join(root, 'link.sock'));
    await socket('foreign.sock');
    if (process.getuid?.() === 0) chownSync(join(root, 'foreign.sock'), 4_711, 4_711);
    start({ rescans: true });
    await socket('good.sock');
    await expect.poll(names).toContain('good.sock');
    await new Promise((resolve) => setTimeout(resolve, 200));
    const refused = [`${join(root, 'link.sock')}: it is a symbolic link`];
    if (process.getuid?.() === 0) {
      refused.unshift(`${join(root, 'foreign.sock')}: it belongs to user 4711`);
      expect(names()).toEqual(['good.sock']);
    }
    expect(warnings.map(([, { path, reason }]) => `${String(path)}: ${String(reason)}`).toSorted()).toEqual(
      refused,
    );
  });

  test('reports 500 sockets', async () => {
    mkdirSync(root);
    for (let at = 0; at < 500; at++) await socket(`${at}.sock`);
    start();
    await expect.poll(() => names()?.length).toBe(500);
  });

  test('a flood of files, sockets and directories hides no known socket and costs bounded time', async () => {
    await startWith('x.sock', { rescans: true });
    for (let at = 0; at < 12_000; at++) writeFileSync(join(root, `a${at}`), '');
    for (let at = 0; at < 20; at++) mkdirSync(join(root, `${'d/'.repeat(at)}d`), { recursive: true });
    await expect.poll(() => warnings.length, { timeout: 5_000 }).toBeGreaterThan(0);
    expect(warnings[0]?.[1]).toMatchObject({ path: root });
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(names()).toEqual(['x.sock']);
    unlinkSync(join(root, 'x.sock'));
    await expect.poll(names).toEqual([]);
  }, 20_000);

  test('reports nothing after it is closed', async () => {
    await startWith('x.sock');
    watcher?.close();
    const count = reports.length;
    await socket('y.sock');
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(reports.length).toBe(count);
  });
});

async function startWith(name: string, options = {}): Promise<void> {
  mkdirSync(root);
  await socket(name);
  start(options);
  await expect.poll(names).toEqual([name]);
}

describe('inspectSocket', () => {
  const stats = (changes: object) => ({
    isSocket: () => true,
    isSymbolicLink: () => false,
    uid: 0n,
    dev: 1n,
    ino: 2n,
    birthtimeNs: 3n,
    ctimeNs: 4n,
    ...changes,
  });
  const cases = [
    ['a socket of root', stats({}), { is: 'socket', identity: '1:2:3' }],
    ["a socket of the kubelet's user", stats({ uid: 1_000n }), { is: 'socket', identity: '1:2:3' }],
    ['a socket of another user', stats({ uid: 7n }), { is: 'refused', why: 'it belongs to user 7' }],
    ['a link', stats({ isSymbolicLink: () => true }), { is: 'refused', why: 'it is a symbolic link' }],
    ['a file', stats({ isSocket: () => false }), { is: 'other' }],
    ['a file system without time of birth', stats({ birthtimeNs: 0n }), { is: 'socket', identity: '1:2:4' }],
  ] as const;
  for (const [name, given, want] of cases) test(name, () => expect(inspectStats(given, 1_000)).toEqual(want));

  test('a missing path', async () => {
    expect(await inspectSocket(join(dir, 'none'))).toEqual({ is: 'missing' });
  });
});
