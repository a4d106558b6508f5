import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  aDevice,
  devicePluginService,
  type FakeServer,
  hang,
  serveRaw,
  serveServices,
} from '../../../test/fakes/fake-plugin.ts';
import { checkLeaks, type LeakCheck } from '../../../test/leaks/leaks.ts';
import { DevicePluginDefinition } from '../../api/kubelet/generated/deviceplugin/v1beta1/api.ts';
import { RpcFailure, type RpcHandlers } from '../../api/kubelet/rpc-service.ts';
import { realClock } from '../../base/clock.ts';
import { Aborted, KubeletError } from '../../base/errors.ts';
import { InFlightCalls } from '../../base/in-flight-calls.ts';
import { connectUnix, type UnixClient } from './unix-client.ts';

let dir: string;
let path: string;
let leaks: LeakCheck;
const servers: FakeServer[] = [];
const clients: UnixClient[] = [];
const never = new AbortController().signal;
const { methods } = DevicePluginDefinition;

beforeEach(() => {
  leaks = checkLeaks({ settleMs: 3_000 });
  dir = mkdtempSync(join(tmpdir(), 'unix-client-'));
  path = join(dir, 's');
});

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  for (const server of servers.splice(0)) await server.close();
  rmSync(dir, { recursive: true });
  expect(calls.list()).toEqual([]);
  await leaks.assertNone();
});

async function serve(changes: Partial<RpcHandlers<typeof DevicePluginDefinition>> = {}): Promise<FakeServer> {
  const server = await serveServices(path, [devicePluginService(changes)]);
  servers.push(server);
  return server;
}

const calls = new InFlightCalls(realClock);

async function dial(signal = never, timeoutMs = 2_000): Promise<UnixClient> {
  const client = await connectUnix({ path, server: 'plugin', clock: realClock, calls, timeoutMs, signal });
  clients.push(client);
  return client;
}

function options(client: UnixClient, timeoutMs = 2_000, signal = never, responseBytes = 1_000) {
  return client.unary(
    DevicePluginDefinition,
    methods.getDevicePluginOptions,
    {},
    { timeoutMs, signal, responseBytes },
  );
}

async function failure(work: Promise<unknown>): Promise<string> {
  const err = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (err instanceof KubeletError) return `${err.kind} ${err.reason}: ${err.message}`;
  return String(err);
}

test('a unary call returns the typed response', async () => {
  await serve();
  expect(await options(await dial())).toEqual({
    preStartRequired: false,
    getPreferredAllocationAvailable: false,
  });
});

test('a stream returns the bytes of each message, and ends with the stream', async () => {
  await serve({
    listAndWatch: async function* () {
      yield { devices: [aDevice('a')] };
      yield { devices: [] };
    },
  });
  const client = await dial();
  const lengths: number[] = [];
  const limits = { timeoutMs: Number.POSITIVE_INFINITY, signal: never };
  for await (const bytes of client.stream(DevicePluginDefinition, methods.listAndWatch, {}, limits))
    lengths.push(bytes.length);
  expect(lengths).toEqual([14, 0]);
});

test("the server's error keeps its code and message", async () => {
  await serve({
    getDevicePluginOptions: async () => {
      throw new RpcFailure('FAILED_PRECONDITION', 'not yet');
    },
  });
  expect(await failure(options(await dial()))).toBe('invalid FAILED_PRECONDITION: not yet');
});

test('a call ends at its deadline', async () => {
  await serve({ getDevicePluginOptions: (_, { signal }) => hang(signal) });
  expect(await failure(options(await dial(), 50))).toBe('timeout DEADLINE_EXCEEDED: Deadline exceeded');
});

test('a call ends with the reason of its signal', async () => {
  await serve({ getDevicePluginOptions: (_, { signal }) => hang(signal) });
  const stop = new AbortController();
  const call = failure(options(await dial(), 5_000, stop.signal));
  stop.abort(new Aborted('enough'));
  expect(await call).toBe('AbortError: enough');
});

test('a response above the limit is an error', async () => {
  await serve({
    allocate: async () => ({
      containerResponses: [
        { envs: { a: 'x'.repeat(2_000) }, mounts: [], devices: [], annotations: {}, cdiDevices: [] },
      ],
    }),
  });
  const client = await dial();
  const limits = { timeoutMs: 1_000, signal: never, responseBytes: 1_000 };
  expect(
    await failure(client.unary(DevicePluginDefinition, methods.allocate, { containerRequests: [] }, limits)),
  ).toContain('RESOURCE_EXHAUSTED: Received message larger than max');
});

test('a lost connection ends the calls in flight and every later one', async () => {
  const server = await serve({ getDevicePluginOptions: (_, { signal }) => hang(signal) });
  const client = await dial();
  const call = failure(options(client));
  await new Promise((resolve) => setImmediate(resolve));
  await server.close();
  servers.length = 0;
  expect(await call).toMatch(/^unavailable UNAVAILABLE: /);
  await serve();
  expect(await failure(options(client))).toMatch(/^unavailable UNAVAILABLE: /);
});

test('close() ends the calls in flight', async () => {
  await serve({ getDevicePluginOptions: (_, { signal }) => hang(signal) });
  const client = await dial();
  const call = failure(options(client));
  client.close();
  expect(await call).toMatch(/^unavailable UNAVAILABLE: /);
});

test('to dial fails at once without a socket or without a listener', async () => {
  expect(await failure(dial())).toBe(
    `unavailable UNAVAILABLE: plugin is not reachable: connect ENOENT ${path}`,
  );
});

test('to dial a path that is too long fails', async () => {
  path = join(dir, 'x'.repeat(120));
  expect(await failure(dial())).toBe('invalid InvalidEndpoint: invalid path of a unix socket');
});

test('to dial a server that accepts and sends nothing ends at the deadline', async () => {
  servers.push(await serveRaw(path));
  expect(await failure(dial(never, 50))).toBe('timeout DEADLINE_EXCEEDED: context deadline exceeded');
});

test('to dial a server that accepts and sends nothing ends with its signal', async () => {
  servers.push(await serveRaw(path));
  const stop = new AbortController();
  const dialled = failure(dial(stop.signal));
  stop.abort(new Aborted('enough'));
  expect(await dialled).toBe('AbortError: enough');
});

for (const [name, bytes] of [
  ['text', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')],
  ['random bytes', Buffer.from('00ff17c0ffee00ff17c0ffee00ff17c0ffee', 'hex')],
] as const)
  test(`to dial a server that sends ${name} fails at once`, async () => {
    servers.push(await serveRaw(path, (socket) => socket.write(bytes)));
    expect(await failure(dial())).toMatch(/^unavailable UNAVAILABLE: plugin is not reachable: /);
  });

test('a unary call is listed while it is in flight, with its socket', async () => {
  await serve({ getDevicePluginOptions: (_, { signal }) => hang(signal) });
  const client = await dial();
  const stop = new AbortController();
  const failed = failure(options(client, 2_000, stop.signal));
  expect(calls.list()).toMatchObject([{ to: 'plugin', method: `GetDevicePluginOptions ${path}` }]);
  stop.abort(new Aborted('enough'));
  await failed;
});
