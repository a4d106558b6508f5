// Against real gRPC servers on loopback.
import { createServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData, status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkLeaks, type LeakCheck } from '../../../test/leaks/leaks.ts';
import type { ProbeAnswer } from '../../api/ports/probe-requests.ts';
import { isAbort } from '../../base/errors.ts';
import { closeServers, listen } from './fixtures/servers.ts';
import { decodeResponse, grpcProbe } from './grpc-probe.ts';

let leaks: LeakCheck;
let servers: Server[] = [];
beforeEach(() => {
  leaks = checkLeaks({ settleMs: 2_000 });
});
afterEach(async () => {
  for (const server of servers) server.forceShutdown();
  servers = [];
  await closeServers();
  await leaks.assertNone();
});

type Check = (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) => void;

async function serve(check: Check, path = '/grpc.health.v1.Health/Check'): Promise<number> {
  const server = new Server();
  servers.push(server);
  const same = (bytes: Buffer): Buffer => bytes;
  const method = {
    path,
    requestStream: false,
    responseStream: false,
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  } as const;
  server.addService({ Check: method }, { Check: check });
  return await new Promise((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (err, port) =>
      err === null ? resolve(port) : reject(err),
    ),
  );
}

const signal = new AbortController().signal;
const probe = (port: number, over: object = {}): Promise<ProbeAnswer> =>
  grpcProbe({ host: '127.0.0.1', port, service: '', timeoutMs: 5_000, ...over }, signal);
const answering =
  (...bytes: number[]): Check =>
  (_call, callback) =>
    callback(null, Buffer.from(bytes));

describe('the response of the server', () => {
  for (const [bytes, result, output] of [
    [[8, 1], 'success', 'service healthy'],
    [[], 'failure', 'service unhealthy (responded with "UNKNOWN")'],
    [[8, 2], 'failure', 'service unhealthy (responded with "NOT_SERVING")'],
    [[8, 3], 'failure', 'service unhealthy (responded with "SERVICE_UNKNOWN")'],
    [[8, 7], 'failure', 'service unhealthy (responded with "7")'],
    // An unknown field.
    [[18, 1, 65, 8, 1], 'success', 'service healthy'],
  ] as const) {
    test(`${bytes.join(' ')}: ${output}`, async () => {
      expect(await probe(await serve(answering(...bytes)))).toEqual({ result, output });
    });
  }
  test('sends the service and the user agent', async () => {
    let received = '';
    const port = await serve(({ metadata, request }, callback) => {
      received = `${request.toString('latin1')} by ${String(metadata.get('user-agent')[0]).split(' ')[0]}`;
      callback(null, Buffer.from([8, 1]));
    });
    expect((await probe(port, { service: 'web' })).result).toBe('success');
    expect(received).toBe('\n\u0003web by kube-probe/1.37');
  });
  test('fails for an unknown service', async () => {
    const port = await serve((_call, callback) =>
      callback({ code: status.NOT_FOUND, details: 'unknown service' }),
    );
    expect((await probe(port)).output).toBe(
      'error: health rpc probe failed: rpc error: code = NotFound desc = unknown service',
    );
  });
  test('fails if the server does not implement the health protocol', async () => {
    expect((await probe(await serve(answering(), '/other.Service/Check'))).output).toMatch(
      /^error: this server does not implement the grpc health protocol \(grpc\.health\.v1\.Health\): /,
    );
  });
  test('rejects an invalid message', () => {
    expect(() => decodeResponse(Buffer.from([8]))).toThrow();
  });
});

describe('misbehaving servers', () => {
  test('fails if the server does not respond in time', async () => {
    const port = await serve(() => undefined);
    expect(await probe(port, { timeoutMs: 300 })).toEqual({
      result: 'failure',
      output: 'timeout: health rpc did not complete within 300ms',
      timedOut: true,
    });
  });
  test('fails if the connection is refused', async () => {
    const port = await listen(createServer());
    await closeServers();
    expect(await probe(port, { timeoutMs: 100 })).toEqual({
      result: 'failure',
      output: `timeout: failed to connect service "127.0.0.1:${port}" within 100ms: context deadline exceeded`,
      timedOut: true,
    });
  });
  test('fails for plain HTTP and for garbage', async () => {
    const plain = await listen(createServer((_request, response) => response.end('x')));
    const garbage = await listen(
      createTcpServer((socket) => socket.on('error', () => undefined).end('garbage')),
    );
    for (const port of [plain, garbage])
      expect((await probe(port, { timeoutMs: 300 })).result).toBe('failure');
  });
  test('rejects when aborted', async () => {
    const stop = new AbortController();
    const port = await serve(() => stop.abort());
    const probe = grpcProbe({ host: '127.0.0.1', port, service: '', timeoutMs: 5_000 }, stop.signal);
    expect(isAbort(await probe.catch((err: unknown) => err))).toBe(true);
  });
});
