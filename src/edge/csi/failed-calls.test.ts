// Errors of failed calls: their text, their outcome, and what they must not repeat.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkLeaks, type LeakCheck } from '../../../test/leaks/leaks.ts';
import { rpcFailureCodes } from '../../api/cri/runtime.ts';
import {
  NodeGetInfoResponse,
  NodeGetVolumeStatsResponse,
  NodePublishVolumeRequest,
} from '../../api/csi/generated/csi/v1/csi.ts';
import { Aborted } from '../../base/errors.ts';
import { DriverRig, failureOf, never, stageRequest, unpublish } from './fixtures/driver-rig.ts';
import { hang, type NodeHandlers } from './fixtures/node-server.ts';

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

describe('a failed call', () => {
  const uncertain = ['CANCELLED', 'DEADLINE_EXCEEDED', 'UNAVAILABLE', 'RESOURCE_EXHAUSTED', 'ABORTED'];
  test.each(rpcFailureCodes.map((code, at) => [code, at + 1] as const))(
    'has the text and the outcome of %s',
    async (code, number) => {
      await rig.serve({
        nodeUnpublishVolume: () => Promise.reject({ code: number, details: 'volume is "odd"' }),
      });
      const [camel = ''] = [
        status[number]?.toLowerCase().replace(/(?:^|_)(\w)/g, (_, c: string) => c.toUpperCase()),
      ];
      expect(await failureOf(rig.client().unpublish(unpublish, never))).toMatchObject({
        reason: code,
        message: `rpc error: code = ${camel === 'Cancelled' ? 'Canceled' : camel} desc = volume is "odd"`,
        outcome: uncertain.includes(code) ? 'uncertain' : 'final',
      });
    },
  );

  test('is one line of bounded length', async () => {
    const details = `a\r\n\tb\u0000\u001b[31m\u2028c ${'x'.repeat(10_000)}`;
    await rig.serve({ nodeUnpublishVolume: () => Promise.reject({ code: status.INTERNAL, details }) });
    const { message } = (await failureOf(rig.client().unpublish(unpublish, never))) as { message: string };
    expect(message).toMatch(/^rpc error: code = Internal desc = a b \[31m c x+…$/);
    expect(message.length).toBeLessThan(2_200);
  });

  test('repeats neither secrets nor tokens of the request', async () => {
    const tokens = JSON.stringify({ '': { token: 'eyJhbGciOi.part.two', expirationTimestamp: 'soon' } });
    const details =
      'login of user with hunter22 (hunter22again), "line1\\nline2" and eyJhbGciOi.part.two failed for ab';
    await rig.serve({ nodePublishVolume: () => Promise.reject({ code: status.INTERNAL, details }) });
    const request = NodePublishVolumeRequest.fromPartial({
      volumeId: 'v',
      secrets: { password: 'hunter22', key: 'line1\nline2\n', short: 'ab' },
      volumeContext: { 'csi.storage.k8s.io/serviceAccount.tokens': tokens },
    });
    const { client, err } = await rejected(request);
    const masked =
      'login of user with ***stripped*** (***stripped***again), "***stripped***" and ***stripped*** failed for ab';
    expect(err).toMatchObject({ message: `rpc error: code = Internal desc = ${masked}` });
    const everything = JSON.stringify([err, (err as Error).cause, (err as Error).stack]);
    for (const secret of ['hunter22', 'line1', 'eyJ']) expect(everything).not.toContain(secret);
    expect(client.driver).toBe('d.example.com');
  });

  async function rejected(request: NodePublishVolumeRequest) {
    const client = rig.client();
    const err: unknown = await client.publish(request, never).catch((thrown: unknown) => thrown);
    return { client, err };
  }

  test('of a method that the driver does not have is final', async () => {
    await rig.serve({ nodeGetInfo: async () => NodeGetInfoResponse.create() });
    expect(await failureOf(rig.client().stage(stageRequest, never))).toMatchObject({
      reason: 'UNIMPLEMENTED',
      outcome: 'final',
    });
  });

  test('rejects with the reason of the caller, and cancels the call at the driver', async () => {
    let isStaging = false;
    let cancelled = false;
    await rig.serve({
      nodeStageVolume: async (_, call) => {
        isStaging = true;
        await call.cancelled;
        cancelled = true;
        return {};
      },
    });
    const stop = new AbortController();
    const reason = new Aborted('the pod was deleted');
    const staged = failureOf(rig.client().stage(stageRequest, stop.signal));
    await expect.poll(() => isStaging).toBe(true);
    stop.abort(reason);
    expect(await staged).toBe(reason);
    await expect.poll(() => cancelled).toBe(true);
    expect(await failureOf(rig.client().stage(stageRequest, stop.signal))).toBe(reason);
  });
});

describe('a deadline', () => {
  const late = {
    kind: 'timeout',
    reason: 'DEADLINE_EXCEEDED',
    message: 'rpc error: code = DeadlineExceeded desc = context deadline exceeded',
    outcome: 'uncertain',
  };

  test('ends a call that hangs, and is sent to the driver', async () => {
    let sentMs = 0;
    const handlers: NodeHandlers = {
      nodeStageVolume: (_, { leftMs }) => {
        sentMs = leftMs;
        return hang();
      },
      nodeGetInfo: async () => NodeGetInfoResponse.create(),
    };
    const server = await rig.serve(handlers);
    const client = rig.client({ timeoutMs: 600 });
    // The server may notice its deadline first, in its own words.
    expect(await failureOf(client.stage(stageRequest, never))).toMatchObject({
      reason: late.reason,
      outcome: late.outcome,
    });
    expect(sentMs).toBeGreaterThan(0);
    expect(sentMs).toBeLessThanOrEqual(600);
    // What does not answer may be the connection.
    expect(await client.info(never)).toEqual(NodeGetInfoResponse.create());
    expect(server.connections()).toBe(2);
  });

  test('is not affected by an answer that comes later', async () => {
    let answer = (): void => undefined;
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await rig.serve({
      nodeUnpublishVolume: async ({ volumeId }) => {
        if (volumeId === 'slow') await answered;
        return {};
      },
    });
    const client = rig.client({ timeoutMs: 600 });
    expect(await failureOf(client.unpublish({ ...unpublish, volumeId: 'slow' }, never))).toMatchObject({
      reason: late.reason,
    });
    answer();
    await client.unpublish(unpublish, never);
    expect(rig.observed.map(({ code }) => code)).toEqual(['DeadlineExceeded', 'OK']);
  });
});

describe('a response', () => {
  const invalid = { reason: 'INTERNAL', outcome: 'uncertain' };
  const segments = (entries: readonly (readonly [string, string])[]): Buffer => {
    const accessibleTopology = { segments: Object.fromEntries(entries) };
    return Buffer.from(
      NodeGetInfoResponse.encode(NodeGetInfoResponse.fromPartial({ accessibleTopology })).finish(),
    );
  };

  test.each([
    ['a message that is not protobuf', Buffer.from([0x0a, 0x7f, 1])],
    ['nested groups', Buffer.alloc(10_000, 0x0b)],
    [
      'a node ID that is too long',
      Buffer.from(
        NodeGetInfoResponse.encode({ ...NodeGetInfoResponse.create(), nodeId: 'x'.repeat(2_000) }).finish(),
      ),
    ],
    ['a topology key that is too long', segments([['k'.repeat(2_000), 'v']])],
    ['a topology value that is too long', segments([['k', 'v'.repeat(2_000)]])],
    ['the key __proto__', Buffer.from('\x1a\x10\x0a\x0e\x0a\x09__proto__\x12\x01x', 'latin1')],
    ['too many segments', segments(Array.from({ length: 300 }, (_, at) => [`k${at}`, 'v']))],
  ])('is refused: %s', async (_name, bytes) => {
    await rig.serve({ nodeGetInfo: async () => bytes });
    expect(await failureOf(rig.client().info(never))).toMatchObject(invalid);
  });

  test('of too many bytes is refused before it is read', async () => {
    await rig.serve({
      nodeGetInfo: async () => Buffer.alloc(2 * 1024 * 1024, 0x0a),
      nodeStageVolume: async () => Buffer.alloc(20_000),
    });
    const tooLong = { reason: 'RESOURCE_EXHAUSTED', outcome: 'uncertain' };
    expect(await failureOf(rig.client().info(never))).toMatchObject(tooLong);
    expect(await failureOf(rig.client().stage(stageRequest, never))).toMatchObject(tooLong);
  });

  test('with too many usages or capabilities is refused', async () => {
    await rig.serve({
      nodeGetVolumeStats: async () =>
        NodeGetVolumeStatsResponse.fromPartial({ usage: Array.from({ length: 17 }, () => ({})) }),
      nodeGetCapabilities: async () => ({
        capabilities: Array.from({ length: 300 }, () => ({ rpc: { type: 1 } })),
      }),
    });
    const client = rig.client();
    expect(
      await failureOf(client.stats({ volumeId: '', volumePath: '', stagingTargetPath: '' }, never)),
    ).toMatchObject(invalid);
    expect(await failureOf(client.capabilities(never))).toMatchObject(invalid);
  });

  test('that is garbage to a call with an effect is uncertain', async () => {
    await rig.serve({ nodeStageVolume: async () => Buffer.from([0xff, 0xff]) });
    const err = await failureOf(rig.client().stage(stageRequest, never));
    expect(err).toMatchObject({
      ...invalid,
      message: expect.stringContaining('grpc: failed to unmarshal the received message: '),
    });
  });
});
