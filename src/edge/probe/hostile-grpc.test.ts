// gRPC probes against servers that send endless HTTP/2 frames. The probe's timeout is long, so that a missing bound makes the
// test time out.
import { createServer, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkLeaks, type LeakCheck } from '../../../test/leaks/leaks.ts';
import type { ProbeAnswer } from '../../api/ports/probe-requests.ts';
import { closeServers, listen } from './fixtures/servers.ts';
import { grpcProbe } from './grpc-probe.ts';

let leaks: LeakCheck;
const connections = new Set<Socket>();
beforeEach(() => {
  leaks = checkLeaks();
});
afterEach(async () => {
  // Clients first: closing the servers would hide connections that a client has left open.
  await expect.poll(() => connections.size, { timeout: 2_000 }).toBe(0);
  await closeServers();
  await leaks.assertNone();
});

function frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

const [dataFrame, headersFrame, priority, reset, settings, ping, windowUpdate, continuation] = [
  0, 1, 2, 3, 4, 6, 8, 9,
] as const;
const [noFlags, endHeaders] = [0, 4];
const bytes = (...each: number[]): Buffer => Buffer.from(each);
/** HPACK: a header without indexing, with lengths below 127. */
const header = (name: string, value: string): Buffer =>
  Buffer.concat([bytes(0, name.length), Buffer.from(name), bytes(value.length), Buffer.from(value)]);
const ready = frame(settings, noFlags, 0, bytes());
const grpc = header('content-type', 'application/grpc');
const status200 = bytes(0x88);
const answer = frame(headersFrame, endHeaders, 1, Buffer.concat([status200, grpc]));
const compressed = frame(
  headersFrame,
  endHeaders,
  1,
  Buffer.concat([status200, grpc, header('grpc-encoding', 'gzip')]),
);

/** Sends the head once the request has arrived, and then the piece endlessly. */
function pour(head: Buffer, piece: Buffer): (socket: Socket) => void {
  const block = Buffer.concat(Array.from({ length: Math.ceil(65_536 / piece.length) }, () => piece));
  return (socket) => {
    socket.write(ready);
    let received = 0;
    let pours = false;
    const write = (): void => {
      while (!socket.destroyed && socket.write(block));
    };
    socket.on('drain', () => {
      if (pours) write();
    });
    socket.on('data', (chunk) => {
      received += chunk.length;
      // The preface with its settings is shorter, the request is longer.
      if (pours || received < 150) return;
      pours = true;
      socket.write(head);
      write();
    });
  };
}

const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
const bombLength = Buffer.alloc(4);
bombLength.writeUInt32BE(bomb.length);
const bombMessage = Buffer.concat([bytes(1), bombLength, bomb]);
const bombFrames = Buffer.concat(
  Array.from({ length: Math.ceil(bombMessage.length / 16_384) }, (_, i) =>
    frame(dataFrame, noFlags, 1, bombMessage.subarray(i * 16_384, (i + 1) * 16_384)),
  ),
);

async function probe(serve: (socket: Socket) => void, timeoutMs: number): Promise<ProbeAnswer> {
  const port = await listen(
    createServer((socket) => {
      connections.add(socket);
      socket.on('error', () => undefined).on('close', () => connections.delete(socket));
      serve(socket);
    }),
  );
  const { signal } = new AbortController();
  return await grpcProbe({ host: '127.0.0.1', port, service: '', timeoutMs }, signal);
}

describe('fails and closes the connection if the server sends endlessly', () => {
  const cases: readonly (readonly [name: string, serve: (socket: Socket) => void])[] = [
    ['pings', pour(bytes(), frame(ping, noFlags, 0, Buffer.alloc(8)))],
    ['settings', pour(bytes(), frame(settings, noFlags, 0, bytes(0, 3, 0, 0, 0, 100)))],
    ['acknowledgements of pings that were never sent', pour(bytes(), frame(ping, 1, 0, Buffer.alloc(8)))],
    ['frames of an unknown type', pour(bytes(), frame(0xfa, noFlags, 0, Buffer.alloc(16_384)))],
    ['window updates', pour(bytes(), frame(windowUpdate, noFlags, 1, bytes(0, 0, 0, 1)))],
    ['priorities', pour(bytes(), frame(priority, noFlags, 1, bytes(0, 0, 0, 0, 1)))],
    ['resets of closed streams', pour(bytes(), frame(reset, noFlags, 3, bytes(0, 0, 0, 8)))],
    ['informational headers', pour(bytes(), frame(headersFrame, endHeaders, 1, header(':status', '103')))],
    ['headers', pour(frame(headersFrame, noFlags, 1, status200), frame(continuation, noFlags, 1, grpc))],
    [
      'empty continuations',
      pour(frame(headersFrame, noFlags, 1, status200), frame(continuation, 0, 1, bytes())),
    ],
    ['empty data', pour(answer, frame(dataFrame, noFlags, 1, bytes()))],
    ['messages without content', pour(answer, frame(dataFrame, noFlags, 1, bytes(0, 0, 0, 0, 0)))],
    [
      'a message of a gigabyte',
      pour(
        Buffer.concat([answer, frame(dataFrame, noFlags, 1, bytes(0, 64, 0, 0, 0))]),
        frame(dataFrame, noFlags, 1, Buffer.alloc(1_024)),
      ),
    ],
    [
      'a message that decompresses to 64 MiB',
      pour(Buffer.concat([compressed, bombFrames]), frame(ping, noFlags, 0, Buffer.alloc(8))),
    ],
  ];
  for (const [name, serve] of cases) {
    test(name, async () => {
      const { output, result } = await probe(serve, 600_000);
      expect([result, output]).toEqual([
        'failure',
        expect.stringMatching(/^error: health rpc probe failed: /),
      ]);
    });
  }
});

test('stops reading endless garbage and fails at the timeout', async () => {
  let sent = 0;
  const garbage = pour(bytes(), Buffer.from('garbage \u0000\u0001\u0002'));
  const answer = await probe((socket) => {
    garbage(socket);
    socket.on('close', () => (sent = socket.bytesWritten));
  }, 300);
  expect(answer).toMatchObject({ result: 'failure', output: expect.stringMatching(/^timeout: /) });
  // Includes what the kernel buffers on both sides.
  await expect.poll(() => sent).toBeGreaterThan(0);
  expect(sent).toBeLessThan(64 * 1024 * 1024);
});

test('retries a server that becomes available within the timeout', async () => {
  let count = 0;
  const healthy = Buffer.concat([
    answer,
    frame(dataFrame, noFlags, 1, bytes(0, 0, 0, 0, 2, 8, 1)),
    frame(headersFrame, 5, 1, header('grpc-status', '0')),
  ]);
  const serve = (socket: Socket): void => {
    count += 1;
    if (count === 1) socket.destroy();
    else pour(healthy, frame(ping, 1, 0, Buffer.alloc(8)))(socket);
  };
  expect(await probe(serve, 60_000)).toEqual({ result: 'success', output: 'service healthy' });
});
