import { linkSync, lstatSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { checkLeaks, type LeakCheck } from '../../../test/leaks/leaks.ts';
import type { HttpRequest } from '../../api/ports/http.ts';
import { listenUnix } from './listen-unix.ts';

let leaks: LeakCheck;
let directory: string;
let path: string;
let open: { close(): Promise<void> }[];
let seen: HttpRequest[];

beforeEach(() => {
  leaks = checkLeaks();
  directory = mkdtempSync(join(tmpdir(), 'unix-'));
  path = join(directory, 'kubelet-api.sock');
  open = [];
  seen = [];
});

afterEach(async () => {
  for (const each of open) await each.close();
  rmSync(directory, { recursive: true });
  await leaks.assertNone();
});

async function listen(body = 'hello'): Promise<{ close(): Promise<void> }> {
  const listener = await listenUnix({
    path,
    handler: (request) => {
      seen.push(request);
      return { status: 200, headers: {}, body };
    },
  });
  open.push(listener);
  return listener;
}

function ask(): Promise<string> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest({ socketPath: path, path: '/pods?x=1', agent: false }, (incoming) => {
      let text = '';
      incoming.setEncoding('utf8');
      incoming.on('data', (chunk: string) => {
        text += chunk;
      });
      incoming.on('end', () => resolve(text));
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}

function other(): Promise<Server> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.listen(path, () => resolve(server));
  });
}

test('answers on a socket that only its owner can use, and leaves nothing else', async () => {
  const before = process.umask(0);
  try {
    await listen();
  } finally {
    process.umask(before);
  }
  const stats = lstatSync(path);
  expect([stats.isSocket(), stats.mode & 0o777]).toEqual([true, 0o600]);
  expect(readdirSync(directory)).toEqual(['kubelet-api.sock']);
  expect(await ask()).toBe('hello');
  expect(seen[0]).toMatchObject({ method: 'GET', path: '/pods', headers: { host: 'localhost' } });
});

test('removes the socket when it is closed', async () => {
  await (await listen()).close();
  expect(readdirSync(directory)).toEqual([]);
});

test('serves many clients at once, which have no address', async () => {
  await listen();
  expect(await Promise.all(Array.from({ length: 40 }, ask))).toEqual(
    Array.from({ length: 40 }, () => 'hello'),
  );
});

test('replaces the socket of a process that has ended', async () => {
  const server = await other();
  // Node removes the path that it was bound to, the process that was killed did not.
  linkSync(path, `${path}.kept`);
  await new Promise((resolve) => server.close(resolve));
  renameSync(`${path}.kept`, path);
  expect(lstatSync(path).isSocket()).toBe(true);
  await listen();
  expect(await ask()).toBe('hello');
});

test('leaves the socket of a running process alone', async () => {
  const server = await other();
  await expect(listen()).rejects.toThrow(/kubelet-api.sock: another process serves it/);
  expect(readdirSync(directory)).toEqual(['kubelet-api.sock']);
  await new Promise((resolve) => server.close(resolve));
});

test('does not remove the socket of a successor', async () => {
  const first = await listen('first');
  rmSync(path);
  await listen('second');
  await first.close();
  expect(await ask()).toBe('second');
});

test('rejects a path that the kernel would truncate', async () => {
  path = join(directory, 'x'.repeat(108 - directory.length - 1));
  await expect(listen()).rejects.toThrow('the path of a socket has at most 107 bytes');
  path = path.slice(0, -1);
  await listen();
  expect(statSync(path).isSocket()).toBe(true);
});

test('reports a directory that does not exist', async () => {
  path = join(directory, 'none', 'kubelet-api.sock');
  await expect(listen()).rejects.toThrow(`cannot listen on ${path}`);
});
