import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server, Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { checkLeaks } from './leaks.ts';

describe('checkLeaks', () => {
  test('passes if everything was closed, even if closing takes a moment', async () => {
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

  test('names a leaked timer with the line that set it', async () => {
    const check = checkLeaks({ settleMs: 30 });
    const timer = setTimeout(() => undefined, 60_000);
    await expect(check.assertNone()).rejects.toThrow(/left open: a timer set .*leaks\.test\.ts:\d+/);
    clearTimeout(timer);
  });

  test('names a leaked interval', async () => {
    const check = checkLeaks({ settleMs: 30 });
    const timer = setInterval(() => undefined, 1);
    await expect(check.assertNone()).rejects.toThrow('a timer set');
    clearInterval(timer);
  });

  test('a timer that fired or is unref’d is not a leak', async () => {
    const check = checkLeaks();
    const idle = setTimeout(() => undefined, 60_000).unref();
    await new Promise((resolve) => setTimeout(resolve, 1));
    await check.assertNone();
    clearTimeout(idle);
  });

  test('names a leaked server and socket', async () => {
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

  test('names a leaked child process', async () => {
    const check = checkLeaks({ settleMs: 30 });
    const child = spawn('sleep', ['60'], { stdio: 'ignore' });
    await expect(check.assertNone()).rejects.toThrow('1 ProcessWrap');
    child.kill();
    await once(child, 'exit');
    await check.assertNone();
  });

  test('ignores what was open before', async () => {
    let names = ['PipeWrap', 'MessagePort'];
    const check = checkLeaks({ settleMs: 0, active: () => names });
    names = ['PipeWrap', 'MessagePort', 'MessagePort'];
    await check.assertNone();
    names = ['PipeWrap', 'PipeWrap', 'PipeWrap'];
    await expect(check.assertNone()).rejects.toThrow('left open: 2 PipeWrap');
  });
});
