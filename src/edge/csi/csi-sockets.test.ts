// Sockets that cannot be dialled, and the end of a client.
import { chownSync, linkSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { serveRaw } from '../../../test/fakes/fake-plugin.ts';
import { checkLeaks, type LeakCheck } from '../../../test/leaks/leaks.ts';
import { Aborted } from '../../base/errors.ts';
import {
  DriverRig,
  dialError,
  failureOf,
  named,
  never,
  stageRequest,
  unavailable,
} from './fixtures/driver-rig.ts';

let dir: string;
let leaks: LeakCheck;
let rig: DriverRig;
beforeEach(() => {
  leaks = checkLeaks({ settleMs: 3_000 });
  dir = mkdtempSync(join(tmpdir(), 'csi-'));
  rig = new DriverRig(join(dir, 'csi.sock'));
});
afterEach(async () => {
  await rig.end();
  rmSync(dir, { recursive: true });
  await leaks.assertNone();
});

describe('a socket', () => {
  test('that does not exist or that no process listens on fails at once', async () => {
    expect(await failureOf(rig.client().info(never))).toEqual(
      dialError(rig.path, 'no such file or directory'),
    );
    expect(await failureOf(rig.client().capabilities(never))).toEqual(
      dialError(rig.path, 'no such file or directory'),
    );
    expect(rig.observed.map(({ method, code }) => [method, code])).toEqual([
      ['/csi.v1.Node/NodeGetInfo', 'Unavailable'],
      ['/csi.v1.Node/NodeGetCapabilities', 'Unavailable'],
    ]);
    const dead = await rig.serve(named('a'));
    linkSync(rig.path, join(dir, 'dead.sock'));
    await dead.close();
    const path = join(dir, 'dead.sock');
    expect(await failureOf(rig.client({}, path).info(never))).toEqual(dialError(path, 'connection refused'));
  });

  test('that is a link, a file, of another user or too long is refused', async () => {
    await rig.serve(named('a'));
    const link = join(dir, 'link.sock');
    symlinkSync(rig.path, link);
    const file = join(dir, 'file.sock');
    writeFileSync(file, '');
    const long = join(dir, 'x'.repeat(100));
    for (const [path, why] of [
      [link, 'the socket is refused: it is a symbolic link'],
      [file, 'connection refused'],
      [join(file, 'below'), 'not a directory'],
      [long, 'invalid argument'],
    ] as const)
      expect(await failureOf(rig.client({}, path).info(never))).toEqual(dialError(path, why));
    if (process.getuid?.() !== 0) return;
    chownSync(rig.path, 4_711, 4_711);
    expect(await failureOf(rig.client().info(never))).toEqual(
      dialError(rig.path, 'the socket is refused: it belongs to user 4711'),
    );
  });

  test('that accepts but does not speak fails at the deadline, and is dialled again', async () => {
    let connections = 0;
    const mute = await serveRaw(rig.path, () => {
      connections += 1;
    });
    rig.closeLater(mute);
    const client = rig.client({ timeoutMs: 200 });
    for (let calls = 1; calls <= 2; calls++) {
      expect(await failureOf(client.info(never))).toEqual({
        kind: 'timeout',
        reason: 'DEADLINE_EXCEEDED',
        message:
          'rpc error: code = DeadlineExceeded desc = context deadline exceeded while waiting for connections to become ready',
        outcome: 'uncertain',
      });
      await expect.poll(() => connections).toBe(calls);
    }
  });

  test('that speaks something else fails at once', async () => {
    rig.closeLater(await serveRaw(rig.path, (socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n')));
    expect(await failureOf(rig.client().info(never))).toEqual(
      unavailable('connection error: desc = "error reading server preface: Protocol error"'),
    );
  });

  test('that is closed at once fails at once', async () => {
    rig.closeLater(await serveRaw(rig.path, (socket) => socket.destroy()));
    const err = await failureOf(rig.client().info(never));
    expect(err).toMatchObject({ reason: 'UNAVAILABLE', outcome: 'uncertain' });
    expect(err).toHaveProperty('message', expect.stringContaining('error reading server preface: '));
  });
});

describe('close', () => {
  const closing = {
    kind: 'internal',
    reason: 'CANCELLED',
    message: 'rpc error: code = Canceled desc = grpc: the client connection is closing',
    outcome: 'uncertain',
  };

  test('ends calls in flight and refuses further ones', async () => {
    const server = await rig.serve(named('a'));
    const client = rig.client();
    await client.info(never);
    const calls = [failureOf(client.stage(stageRequest, never)), failureOf(client.info(never))];
    client.close();
    for (const call of calls) expect(await call).toEqual(closing);
    expect(await failureOf(client.info(never))).toEqual(closing);
    expect(await failureOf(client.capabilities(never))).toEqual(closing);
    await expect.poll(server.open).toBe(0);
  });

  test('ends a call that is about to connect', async () => {
    await rig.serve(named('a'));
    const client = rig.client();
    const call = failureOf(client.info(never));
    client.close();
    expect(await call).toEqual(closing);
  });

  test('an abort before the connection is open rejects with its reason', async () => {
    await rig.serve(named('a'));
    const stop = new AbortController();
    const call = failureOf(rig.client().info(stop.signal));
    const reason = new Aborted('enough');
    stop.abort(reason);
    expect(await call).toBe(reason);
  });
});
