// When connections are opened, shared, replaced and closed.
import { linkSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer as createHttp2Server, type ServerHttp2Session } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkLeaks, type LeakCheck } from '../../../test/leaks/leaks.ts';
import type { NodeGetInfoResponse } from '../../api/csi/generated/csi/v1/csi.ts';
import { type Clock, realClock } from '../../base/clock.ts';
import {
  DriverRig,
  dialError,
  failureOf,
  named,
  never,
  stageRequest,
  unavailable,
  unpublish,
} from './fixtures/driver-rig.ts';
import { hang } from './fixtures/node-server.ts';

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

describe('a connection', () => {
  test('is opened by the first call and shared by all', async () => {
    const server = await rig.serve(named('a'));
    const client = rig.client();
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(server.connections()).toBe(0);
    await Promise.all(Array.from({ length: 50 }, () => client.info(never)));
    await client.unpublish(unpublish, never);
    expect(server.connections()).toBe(1);
  });

  test('is closed when it was idle, and opened by the next call', async () => {
    const server = await rig.serve(named('a'));
    const client = rig.client({ idleMs: 30 });
    await client.info(never);
    await expect.poll(server.open).toBe(0);
    await client.info(never);
    expect(server.connections()).toBe(2);
  });

  test('is not idle while a call is in flight', async () => {
    let answer = (): void => undefined;
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const server = await rig.serve({
      nodeStageVolume: async () => {
        await answered;
        return {};
      },
    });
    const staged = rig.client({ idleMs: 20 }).stage(stageRequest, never);
    setTimeout(answer, 200);
    await staged;
    expect(server.connections()).toBe(1);
  });

  test('without a call does not keep the process alive', async () => {
    const server = await rig.serve(named('a'));
    const before = process.getActiveResourcesInfo().filter((name) => name === 'PipeWrap').length;
    const client = rig.client();
    await client.info(never);
    const handles = process.getActiveResourcesInfo().filter((name) => name === 'PipeWrap').length;
    // The two ends behind the test's socket, and the server's end of it.
    expect([server.open(), handles - before]).toEqual([1, 3]);
  });

  test('that breaks fails the call in flight, and the next call opens another', async () => {
    let calls = 0;
    const server = await rig.serve({
      ...named('a'),
      nodeStageVolume: () => {
        calls += 1;
        return hang();
      },
    });
    const client = rig.client();
    const staged = failureOf(client.stage(stageRequest, never));
    await expect.poll(() => calls).toBe(1);
    server.cut();
    expect(await staged).toEqual(unavailable('error reading from server: EOF'));
    expect((await client.info(never)).nodeId).toBe('a');
    expect([calls, server.connections()]).toEqual([1, 2]);
  });

  test('that broke between two calls fails neither', async () => {
    const server = await rig.serve(named('a'));
    const client = rig.client();
    await client.info(never);
    server.cut();
    await new Promise((resolve) => setTimeout(resolve, 50));
    await client.info(never);
    expect(server.connections()).toBe(2);
  });

  test('is opened to a driver that was restarted under the same path', async () => {
    const first = await rig.serve(named('first'));
    const client = rig.client();
    expect((await client.info(never)).nodeId).toBe('first');
    await first.close();
    expect(await failureOf(client.info(never))).toEqual(dialError(rig.path, 'no such file or directory'));
    await rig.serve(named('second'));
    expect((await client.info(never)).nodeId).toBe('second');
  });
});

describe('a driver that was upgraded in place', () => {
  /** No time passes for the client but `skipMs`. Timers are real. */
  function skippingClock(): Clock & { skipMs: number } {
    const clock = {
      ...realClock,
      skipMs: 0,
      monotonic: (): number => clock.skipMs,
    };
    return clock;
  }

  async function upgraded() {
    const clock = skippingClock();
    const client = rig.client({ clock });
    let isStaging = false;
    const old = await rig.serve({
      ...named('old'),
      nodeStageVolume: () => {
        isStaging = true;
        return hang();
      },
    });
    const before: NodeGetInfoResponse = await client.info(never);
    const staged = failureOf(client.stage(stageRequest, never));
    await expect.poll(() => isStaging).toBe(true);
    // The old process keeps its socket under another name, so that it does not remove the new one at its end.
    rmSync(rig.path);
    const replacement = await rig.serve(named('new'), join(dir, 'next.sock'));
    linkSync(join(dir, 'next.sock'), rig.path);
    return { clock, client, old, before, staged, replacement };
  }

  test('is called on its new socket, while calls of the old one continue', async () => {
    const { clock, client, before, old, replacement, staged } = await upgraded();
    clock.skipMs = 1_000;
    const ids = (await Promise.all([client.info(never), client.info(never)])).map(({ nodeId }) => nodeId);
    expect([before.nodeId, ...ids]).toEqual(['old', 'new', 'new']);
    expect([old.open(), replacement.connections()]).toEqual([1, 1]);
    old.cut();
    expect(await staged).toEqual(unavailable('error reading from server: EOF'));
  });

  test('is not looked for again within a second', async () => {
    const { clock, client, replacement, staged } = await upgraded();
    clock.skipMs = 999;
    await client.info(never);
    expect(replacement.connections()).toBe(0);
    client.close();
    await staged;
  });
});

describe('a driver that shuts down gracefully', () => {
  async function serveHttp2(onStream: (session: ServerHttp2Session, nth: number) => 'refuse' | 'answer') {
    const sessions: ServerHttp2Session[] = [];
    let streams = 0;
    const server = createHttp2Server();
    server.on('session', (session) => {
      sessions.push(session);
      session.on('error', () => undefined);
    });
    server.on('stream', (stream) => {
      stream.on('error', () => undefined);
      streams += 1;
      if (
        stream.session === undefined ||
        onStream(stream.session as ServerHttp2Session, streams) === 'refuse'
      ) {
        stream.close(7);
        return;
      }
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.end(Buffer.alloc(5));
    });
    await new Promise<void>((resolve) => server.listen(rig.path, resolve));
    rig.closeLater({
      close: () => {
        for (const session of sessions) session.destroy();
        return new Promise((resolve) => server.close(resolve));
      },
    });
    return { sessions, streams: () => streams };
  }

  test('and refuses a call has it sent once more, on another connection', async () => {
    const { sessions, streams } = await serveHttp2((_, nth) => (nth === 1 ? 'refuse' : 'answer'));
    await rig.client().unpublish(unpublish, never);
    expect([streams(), sessions.length]).toEqual([2, 2]);
    expect(rig.observed.map(({ code }) => code)).toEqual(['OK']);
  });

  test('and refuses every call fails it after the second attempt', async () => {
    const { streams } = await serveHttp2(() => 'refuse');
    expect(await failureOf(rig.client().unpublish(unpublish, never))).toMatchObject({
      reason: 'UNAVAILABLE',
      outcome: 'uncertain',
    });
    expect(streams()).toBe(2);
  });

  test('is called on a new connection', async () => {
    const { sessions, streams } = await serveHttp2(() => 'answer');
    const client = rig.client();
    await client.unpublish(unpublish, never);
    sessions[0]?.goaway(0);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await client.unpublish(unpublish, never);
    expect([streams(), sessions.length]).toEqual([2, 2]);
  });
});
