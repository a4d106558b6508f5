import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server, Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { checkLeaks } from './leaks.ts';

describe('checkLeaks', () => {
  test('passes when everything was closed, even if closing takes a moment', async () => {
    const check = checkLeaks();
    const timer = setTimeout(() => undefined, 60_000);
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    setTimeout(() => {
      clearTimeout(timer);
      server.close();
    }, 30);
    await check.assertNone();
  });

  test('names a timer that was left, with the place where it was made', async () => {
    const check = checkLeaks({ settleMs: 30 });
    const timer = setTimeout(() => undefined, 60_000);
    await expect(check.assertNone()).rejects.toThrow(/left open: a timer made .*leaks\.test\.ts:\d+/);
    clearTimeout(timer);
  });

  test('names an interval that was left', async () => {
    const check = checkLeaks({ settleMs: 30 });
    const timer = setInterval(() => undefined, 1);
    await expect(check.assertNone()).rejects.toThrow('a timer made');
    clearInterval(timer);
  });

  test('a timer that fired, or that holds nothing open, is no leak', async () => {
    const check = checkLeaks();
    const idle = setTimeout(() => undefined, 60_000).unref();
    await new Promise((resolve) => setTimeout(resolve, 1));
    await check.assertNone();
    clearTimeout(idle);
  });

  test('names a server and a socket that were left', async () => {
    const check = checkLeaks({ settleMs: 30 });
    const server: Server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const socket = new Socket();
    if (address === null || typeof address === 'string') throw new Error('no port');
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    socket.connect(address.port, '127.0.0.1');
    const [peer] = await accepted;
    await expect(check.assertNone()).rejects.toThrow(/left open: 2 TCPSocketWrap, 1 TCPServerWrap/);
    socket.destroy();
    peer.destroy();
    server.close();
    await once(server, 'close');
  });

  test('names a child that was left', async () => {
    const check = checkLeaks({ settleMs: 30 });
    const child = spawn('sleep', ['60'], { stdio: 'ignore' });
    await expect(check.assertNone()).rejects.toThrow('1 ProcessWrap');
    child.kill();
    await once(child, 'exit');
    await check.assertNone();
  });

  test('what was open before does not count', async () => {
    let names = ['PipeWrap', 'MessagePort'];
    const check = checkLeaks({ settleMs: 0, active: () => names });
    names = ['PipeWrap', 'MessagePort', 'MessagePort'];
    await check.assertNone();
    names = ['PipeWrap', 'PipeWrap', 'PipeWrap'];
    await expect(check.assertNone()).rejects.toThrow('left open: 2 PipeWrap');
  });
});
