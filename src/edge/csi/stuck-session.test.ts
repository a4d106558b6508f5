import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkLeaks, type LeakCheck } from '../../../test/leaks/leaks.ts';
import { DriverRig, failureOf, never, unpublish } from './fixtures/driver-rig.ts';
import { serveRaw } from './fixtures/raw-server.ts';
import { watchForStop } from './stuck-session.ts';

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

const failing = (message: string) => ({
  ':status': '200',
  'content-type': 'application/grpc',
  'grpc-status': '13',
  'grpc-message': message,
});

describe('a driver whose error has', () => {
  test('60 KiB is read, and its connection is kept', async () => {
    const server = await serveRaw(rig.path, () => failing('x'.repeat(60 * 1024)));
    rig.closeLater(server);
    const client = rig.client();
    for (let times = 0; times < 2; times++)
      expect(await failureOf(client.unpublish(unpublish, never))).toMatchObject({ reason: 'INTERNAL' });
    expect(server.connections()).toBe(1);
  });

  test('1 MiB ends the call soon, and later calls have another connection', async () => {
    const server = await serveRaw(rig.path, () => failing('x'.repeat(1024 ** 2)));
    rig.closeLater(server);
    const client = rig.client();
    for (let times = 0; times < 2; times++)
      expect(await failureOf(client.unpublish(unpublish, never))).toMatchObject({
        reason: 'UNAVAILABLE',
        outcome: 'uncertain',
        message: expect.stringMatching(
          /^rpc error: code = Unavailable desc = error reading from server: /,
        ) as string,
      });
    expect(server.connections()).toBe(2);
  });
});

test('a driver that takes its time keeps its connection', async () => {
  const server = await serveRaw(rig.path, () => undefined);
  rig.closeLater(server);
  const stop = new AbortController();
  const calls = [0, 1].map(() => failureOf(rig.client().unpublish(unpublish, stop.signal)));
  await sleep(1_200);
  expect(server.connections()).toBe(2);
  stop.abort(new Error('enough'));
  expect(await Promise.all(calls)).toEqual([new Error('enough'), new Error('enough')]);
});

test('only a session that is open and has not sent what was submitted is taken for stuck', async () => {
  const stuck: string[] = [];
  let bytesWritten = 0;
  const sending = {
    get bytesWritten() {
      return ++bytesWritten;
    },
  };
  const ends = (
    [
      ['has nothing to send', { outboundQueueSize: 0 }, {}],
      ['does not send', { outboundQueueSize: 1 }, {}],
      ['is closing', { outboundQueueSize: 1 }, { closed: true }],
      ['sends, and has more', { outboundQueueSize: 1 }, { socket: sending }],
      ['has a driver that hangs', { outboundQueueSize: 1 }, { pendingSettingsAck: true }],
    ] as const
  ).map(([name, state, over]) => {
    const session = {
      closed: false,
      destroyed: false,
      pendingSettingsAck: false,
      settings: () => undefined,
      socket: { bytesWritten: 7 },
      state,
    };
    return watchForStop({ ...session, ...over }, () => stuck.push(name));
  });
  await sleep(1_200);
  for (const end of ends) end();
  expect(stuck).toEqual(['does not send']);
});
