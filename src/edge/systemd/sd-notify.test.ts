import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { SdNotify } from './sd-notify.ts';

/** Stands in for systemd: a datagram socket, in the file system or abstract. */
interface Receiver {
  /** The next datagram; undefined if there is none. */
  receive(): string | undefined;
  close(): void;
}

const closeOnExecAndNonBlocking = 0o2004000;

async function openReceiver(name: string): Promise<Receiver> {
  const koffi = await import('koffi');
  const libc = koffi.load(null);
  const socket = libc.func('socket', 'int', ['int', 'int', 'int']) as (...args: number[]) => number;
  const bind = libc.func('bind', 'int', ['int', 'void *', 'uint32']) as (...args: unknown[]) => number;
  const recv = libc.func('recv', 'long', ['int', 'void *', 'size_t', 'int']) as (
    ...args: unknown[]
  ) => number;
  const close = libc.func('close', 'int', ['int']) as (fd: number) => number;
  const fd = socket(1, 2 | closeOnExecAndNonBlocking, 0);
  const path = name.startsWith('@') ? `\0${name.slice(1)}` : name;
  const address = Buffer.concat([Buffer.from([1, 0]), Buffer.from(path)]);
  expect(bind(fd, address, address.length)).toBe(0);
  const buffer = Buffer.alloc(4096);
  return {
    receive: () => {
      const length = recv(fd, buffer, buffer.length, 0);
      return length < 0 ? undefined : buffer.toString('utf8', 0, length);
    },
    close: () => close(fd),
  };
}

describe('SdNotify', () => {
  let directory = '';
  const receivers: Receiver[] = [];
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'startup-notify-'));
  });
  afterEach(async () => {
    for (const receiver of receivers.splice(0)) receiver.close();
    await rm(directory, { recursive: true });
  });

  async function receiverAt(name: string): Promise<Receiver> {
    const receiver = await openReceiver(name);
    receivers.push(receiver);
    return receiver;
  }

  const addresses = [
    ['a socket in the file system', () => join(directory, 'notify')],
    ['an abstract socket', () => `@startup-notify/${randomUUID()}`],
    ['a path of the maximum length', () => join(directory, 'n'.repeat(106 - directory.length))],
  ] as const;
  for (const [name, addressOf] of addresses) {
    test(`${name} receives each state as one datagram`, async () => {
      const socket = addressOf();
      const receiver = await receiverAt(socket);
      const systemd = new SdNotify({ socket, clock: new FakeClock() });
      expect(await systemd.notify('READY=1')).toBe(true);
      expect(await systemd.notify('STOPPING=1')).toBe(true);
      expect([receiver.receive(), receiver.receive(), receiver.receive()]).toEqual([
        'READY=1',
        'STOPPING=1',
        undefined,
      ]);
    });
  }

  for (const socket of [undefined, '']) {
    test(`sends nothing without a socket (${socket})`, async () => {
      expect(await new SdNotify({ socket, clock: new FakeClock() }).notify('READY=1')).toBe(false);
    });
  }

  const invalid = [
    ['a relative path', 'run/notify', { kind: 'invalid', reason: 'InvalidNotifySocket' }],
    ['another family', 'vsock:2:1234', { kind: 'invalid', reason: 'InvalidNotifySocket' }],
    ['a lone @', '@', { kind: 'invalid', reason: 'InvalidNotifySocket' }],
    ['a path too long for the kernel', `/${'x'.repeat(107)}`, { kind: 'invalid', reason: 'ENAMETOOLONG' }],
    ['a socket that does not exist', '/nowhere/notify', { kind: 'not-found', reason: 'ENOENT' }],
  ] as const;
  for (const [name, socket, want] of invalid) {
    test(`rejects ${name}`, async () => {
      await expect(new SdNotify({ socket, clock: new FakeClock() }).notify('READY=1')).rejects.toMatchObject(
        want,
      );
    });
  }

  test('retries a full socket without blocking until it has room', async () => {
    const socket = join(directory, 'notify');
    const receiver = await receiverAt(socket);
    const clock = new FakeClock();
    const systemd = new SdNotify({ socket, clock });
    let accepted = 0;
    let last: Promise<boolean> = Promise.resolve(true);
    while (clock.pendingTimers() === 0) {
      last = systemd.notify(`STATUS=${accepted++}`);
      await clock.settle();
    }
    receiver.receive();
    await clock.advance(50);
    expect(await last).toBe(true);
  });

  test('fails if the socket stays full, and stops waiting on an abort', async () => {
    const socket = join(directory, 'notify');
    await receiverAt(socket);
    const clock = new FakeClock();
    const systemd = new SdNotify({ socket, clock });
    let last: Promise<unknown> = Promise.resolve();
    while (clock.pendingTimers() === 0) {
      last = systemd.notify('STATUS=x').catch((err: unknown) => err);
      await clock.settle();
    }
    await clock.advance(1_000);
    expect(await last).toMatchObject({ kind: 'unavailable', reason: 'EAGAIN' });
    const stop = new AbortController();
    const stopped = systemd.notify('STATUS=x', stop.signal);
    await expect.poll(() => clock.pendingTimers()).toBe(1);
    stop.abort(new Error('stopping'));
    await expect(stopped).rejects.toThrow('stopping');
  });
});
