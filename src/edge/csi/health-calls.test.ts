// NodeGetVolumeHealth and NodeGetStorageHealth over a real unix socket, also with drivers that answer with too much.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  NodeGetStorageHealthResponse,
  NodeGetVolumeHealthResponse,
} from '../../api/csi/generated/csi/v1/csi.ts';
import { DriverRig, failureOf, never } from './fixtures/driver-rig.ts';

let dir: string;
let rig: DriverRig;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'csi-'));
  rig = new DriverRig(join(dir, 'csi.sock'));
});
afterEach(async () => {
  await rig.end();
  rmSync(dir, { recursive: true });
});

const request = { volumeId: 'vol-1', volumePublishPath: '/publish', stagingTargetPath: '/staging' };

test('pass every field in both directions, and are observed', async () => {
  const volumeHealth = {
    volumeId: 'vol-1',
    healthStatuses: [
      { status: 1, reason: 'Slow', message: 'ü' },
      { status: 99, reason: '', message: '' },
    ],
  } as NonNullable<NodeGetVolumeHealthResponse['volumeHealth']>;
  const volumeCapability = { block: {}, mount: undefined, accessMode: { mode: 5 as const } };
  const backendHealth = [
    { status: 2 as const, reason: 'Down', message: 'no route', volumeCapability },
    { status: 1 as const, reason: 'Slow', message: '', volumeCapability: undefined },
  ];
  const seen: unknown[] = [];
  await rig.serve({
    nodeGetVolumeHealth: async (given) => {
      seen.push(given);
      return { volumeHealth };
    },
    nodeGetStorageHealth: async (given) => {
      seen.push(given);
      return { backendHealth };
    },
  });
  const client = rig.client();
  expect(await client.volumeHealth(request, never)).toEqual({ volumeHealth });
  expect(await client.storageHealth({ secrets: {} }, never)).toEqual({ backendHealth });
  expect(seen).toEqual([request, { secrets: {} }]);
  expect(rig.observed.map(({ code, method }) => `${method} ${code}`)).toEqual([
    '/csi.v1.Node/NodeGetVolumeHealth OK',
    '/csi.v1.Node/NodeGetStorageHealth OK',
  ]);
});

test('have room for 16 conditions with the longest texts that the API server accepts', async () => {
  const texts = { reason: 'r'.repeat(256), message: 'm'.repeat(1_024) };
  const sixteen = Array.from({ length: 16 }, () => ({ status: 1 as const, ...texts }));
  await rig.serve({
    nodeGetVolumeHealth: async () =>
      NodeGetVolumeHealthResponse.fromPartial({ volumeHealth: { healthStatuses: sixteen } }),
    nodeGetStorageHealth: async () => NodeGetStorageHealthResponse.fromPartial({ backendHealth: sixteen }),
  });
  const client = rig.client();
  expect((await client.volumeHealth(request, never)).volumeHealth?.healthStatuses).toHaveLength(16);
  expect((await client.storageHealth({ secrets: {} }, never)).backendHealth).toHaveLength(16);
});

test('refuse an answer with too many conditions, or with too many bytes', async () => {
  // Of the smallest conditions, as many as fit: 2 bytes each.
  const most = Array.from({ length: 10_000 }, () => ({}));
  const instead: { bytes?: Buffer } = {};
  await rig.serve({
    nodeGetVolumeHealth: async () =>
      instead.bytes ?? NodeGetVolumeHealthResponse.fromPartial({ volumeHealth: { healthStatuses: most } }),
    nodeGetStorageHealth: async () =>
      instead.bytes ?? NodeGetStorageHealthResponse.fromPartial({ backendHealth: most }),
  });
  const client = rig.client();
  const calls = [
    () => client.volumeHealth(request, never),
    () => client.storageHealth({ secrets: {} }, never),
  ];
  for (const call of calls)
    expect(await failureOf(call())).toMatchObject({
      reason: 'INTERNAL',
      message: expect.stringContaining('more than 256 conditions'),
    });
  instead.bytes = Buffer.alloc(40_000, 0x0a);
  for (const call of calls) expect(await failureOf(call())).toMatchObject({ reason: 'RESOURCE_EXHAUSTED' });
});

test('reject as the driver does', async () => {
  await rig.serve({
    nodeGetVolumeHealth: async () => {
      throw { code: status.NOT_FOUND, details: 'no such volume' };
    },
  });
  expect(await failureOf(rig.client().volumeHealth(request, never))).toMatchObject({
    reason: 'NOT_FOUND',
    message: 'rpc error: code = NotFound desc = no such volume',
  });
});
