// Hostile bytes on a gRPC socket. The server must survive, close every connection and keep answering.
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, credentials } from '@grpc/grpc-js';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { floods, grpcInputs, oddRequests } from '../../../test/clients/http2-frames.ts';
import { exchangeAll, fuzzSeed, randomBytes, watchUncaught } from '../../../test/clients/raw-clients.ts';
import { effort } from '../../../test/effort.ts';
import { checkLeaks, type LeakCheck } from '../../../test/leaks/leaks.ts';
import { EventType, PodsDefinition } from '../../api/kubelet/generated/pods/v1alpha1/api.ts';
import { rpcService } from '../../api/kubelet/rpc-service.ts';
import { realClock } from '../../base/clock.ts';
import { type GrpcListener, listenGrpc } from './listen-grpc.ts';

let dir: string;
let leaks: LeakCheck;
let uncaught: ReturnType<typeof watchUncaught>;
let listener: GrpcListener;
let calls: number;
let errors: unknown[];

beforeEach(async () => {
  leaks = checkLeaks({ settleMs: 3_000 });
  uncaught = watchUncaught();
  dir = mkdtempSync(join(tmpdir(), 'grpc-'));
  calls = 0;
  errors = [];
  listener = await listenGrpc({
    path: join(dir, 'a.sock'),
    services: [
      rpcService(PodsDefinition, {
        getPod: async ({ podUID }) => {
          calls += 1;
          return { pod: Buffer.from(podUID) };
        },
        listPods: async () => ({ pods: [] }),
        watchPods: async function* () {
          for (let at = 0; at < 5; at++) yield { type: EventType.ADDED, pod: Buffer.alloc(30_000) };
        },
      }),
    ],
    limits: { idleMs: 150, requestMs: 400, stalledMs: 400, closeMs: 300, connections: 1_000 },
    clock: realClock,
    onError: (err) => void errors.push(err),
  });
});

afterEach(async () => {
  const stillAnswers = await ask();
  await listener.close();
  uncaught.stop();
  rmSync(dir, { recursive: true });
  expect({ stillAnswers, errors, uncaught: uncaught.errors }).toEqual({
    stillAnswers: 'x',
    errors: [],
    uncaught: [],
  });
  await leaks.assertNone();
});

const open = () => connect(join(dir, 'a.sock'));

async function ask(): Promise<string> {
  const { requestType, responseType } = PodsDefinition.methods.getPod;
  const client = new Client(`unix:${join(dir, 'a.sock')}`, credentials.createInsecure(), {
    'grpc.enable_channelz': 0,
    'grpc.use_local_subchannel_pool': 1,
  });
  try {
    return await new Promise((resolve, reject) => {
      client.makeUnaryRequest(
        '/v1alpha1.Pods/GetPod',
        (uid: string) => Buffer.from(requestType.encode({ podUID: uid }).finish()),
        (bytes: Buffer) => responseType.decode(bytes).pod.toString(),
        'x',
        (err, answer) => (err === null ? resolve(answer ?? '') : reject(err)),
      );
    });
  } finally {
    client.close();
  }
}

describe('the gRPC socket', () => {
  test('closes connections that send random bytes', async () => {
    await exchangeAll(open, fc.sample(randomBytes, { seed: fuzzSeed, numRuns: 60 }));
    expect(calls).toBe(0);
  });

  test('answers or closes connections that send mutated calls', async () => {
    const inputs = grpcInputs('/v1alpha1.Pods/GetPod', '/v1alpha1.Pods/WatchPods');
    await exchangeAll(open, fc.sample(inputs, { seed: fuzzSeed, numRuns: effort(150, 1_000) }));
    expect(calls).toBeGreaterThan(5);
  }, 60_000);

  test('survives odd header blocks and floods of frames', async () => {
    await exchangeAll(open, [...oddRequests.map((bytes) => [bytes]), ...floods.map(([, bytes]) => [bytes])]);
  });
});
