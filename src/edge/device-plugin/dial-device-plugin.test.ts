import { chownSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  aDevice,
  devicePluginService,
  emptyAllocation,
  type FakeServer,
  hang,
  serveRaw,
  serveServices,
} from '../../../test/fakes/fake-plugin.ts';
import { checkLeaks, type LeakCheck } from '../../../test/leaks/leaks.ts';
import type { DevicePluginDefinition } from '../../api/kubelet/generated/deviceplugin/v1beta1/api.ts';
import { RpcFailure, type RpcHandlers } from '../../api/kubelet/rpc-service.ts';
import type { DevicePluginConnection, PluginDevice } from '../../api/ports/device-plugins.ts';
import { type Clock, realClock } from '../../base/clock.ts';
import { Aborted, describeError } from '../../base/errors.ts';
import { devicePluginDialer } from './dial-device-plugin.ts';

let dir: string;
let path: string;
let leaks: LeakCheck;
const servers: FakeServer[] = [];
const connections: DevicePluginConnection[] = [];
const never = new AbortController().signal;

beforeEach(() => {
  leaks = checkLeaks({ settleMs: 3_000 });
  dir = mkdtempSync(join(tmpdir(), 'device-plugin-'));
  path = join(dir, 'p.sock');
});

afterEach(async () => {
  for (const connection of connections.splice(0)) connection.close();
  for (const server of servers.splice(0)) await server.close();
  rmSync(dir, { recursive: true });
  await leaks.assertNone();
});

type Changes = Partial<RpcHandlers<typeof DevicePluginDefinition>>;

async function serve(changes: Changes = {}): Promise<FakeServer> {
  const server = await serveServices(path, [devicePluginService(changes)]);
  servers.push(server);
  return server;
}

/** Deadlines of seconds and minutes become short; pauses of less stay. */
const fast: Clock = {
  ...realClock,
  monotonic: () => realClock.monotonic() * 50,
  setTimer: (ms, fn) => realClock.setTimer(ms / 50, fn),
  sleep: (ms, signal) => realClock.sleep(ms / 50, signal),
};

async function dial(signal = never, clock: Clock = realClock): Promise<DevicePluginConnection> {
  const connection = await devicePluginDialer(clock).dial(path, signal);
  connections.push(connection);
  return connection;
}

const failure = (work: Promise<unknown>): Promise<string> => work.then(() => 'none', describeError);

async function lists(
  connection: DevicePluginConnection,
  signal = never,
): Promise<{ readonly lists: readonly (readonly PluginDevice[])[]; readonly end: string }> {
  const got: (readonly PluginDevice[])[] = [];
  try {
    for await (const list of connection.devices(signal)) got.push(list);
    return { lists: got, end: 'ended' };
  } catch (err) {
    return { lists: got, end: describeError(err) };
  }
}

test('reads the options of the plugin', async () => {
  await serve({
    getDevicePluginOptions: async () => ({ preStartRequired: true, getPreferredAllocationAvailable: true }),
  });
  const { options, socket } = await dial();
  expect({ options, socket }).toEqual({
    socket: path,
    options: { preStartRequired: true, preferredAllocation: true },
  });
});

test('waits for a plugin that serves shortly after it has registered', async () => {
  const dialled = dial();
  await new Promise((resolve) => setTimeout(resolve, 150));
  await serve();
  expect((await dialled).socket).toBe(path);
});

test('gives up after ten seconds without a listener', async () => {
  expect(await failure(dial(never, fast))).toBe(
    'failed to dial device plugin: context deadline exceeded: no such file or directory',
  );
});

test('gives up after ten seconds on a socket that sends nothing', async () => {
  servers.push(await serveRaw(path));
  expect(await failure(dial(never, fast))).toBe('failed to dial device plugin: context deadline exceeded');
});

test('fails if the plugin has no options', async () => {
  await serve({
    getDevicePluginOptions: async () => {
      throw new RpcFailure('UNIMPLEMENTED', 'no options');
    },
  });
  expect(await failure(dial())).toBe(
    'failed to get device plugin options: rpc error: code = Unimplemented desc = no options',
  );
});

test('fails if the plugin hangs in its options', async () => {
  await serve({ getDevicePluginOptions: (_, { signal }) => hang(signal) });
  expect(await failure(dial(never, fast))).toMatch(
    /^failed to get device plugin options: rpc error: code = DeadlineExceeded desc = /,
  );
});

test('refuses a link, a file and a socket of another user at once', async () => {
  await serve();
  const real = path;
  path = join(dir, 'link.sock');
  symlinkSync(real, path);
  expect(await failure(dial())).toBe(
    `failed to dial device plugin: socket ${path} is refused: it is a symbolic link`,
  );
  path = join(dir, 'file.sock');
  writeFileSync(path, '');
  expect(await failure(dial())).toBe(`failed to dial device plugin: ${path} is not a socket`);
  if (process.getuid?.() !== 0) return;
  path = real;
  chownSync(path, 4_711, 4_711);
  expect(await failure(dial())).toBe(
    `failed to dial device plugin: socket ${path} is refused: it belongs to user 4711`,
  );
});

test('stops to dial when its signal aborts', async () => {
  const stop = new AbortController();
  const dialled = failure(dial(stop.signal));
  stop.abort(new Aborted('enough'));
  expect(await dialled).toBe('enough');
});

test('reports lists of devices with health and NUMA nodes until the stream ends', async () => {
  await serve({
    listAndWatch: async function* () {
      yield {
        devices: [
          aDevice('a', { topology: { nodes: [{ ID: 0n }, { ID: 1n }] } }),
          aDevice('b', { health: 'Unhealthy', topology: { nodes: [] } }),
          aDevice('c', { health: 'odd' }),
          aDevice('a'),
        ],
      };
    },
  });
  expect(await lists(await dial())).toEqual({
    lists: [
      [
        { id: 'a', healthy: true, numaNodes: undefined },
        { id: 'b', healthy: false, numaNodes: undefined },
        { id: 'c', healthy: false, numaNodes: undefined },
      ],
    ],
    end: 'ended',
  });
});

test('a plugin that dies ends the lists with an error', async () => {
  const server = await serve();
  const reading = lists(await dial());
  await new Promise((resolve) => setTimeout(resolve, 50));
  await server.close();
  servers.length = 0;
  const { end, lists: got } = await reading;
  expect(got.length).toBe(1);
  expect(end).toMatch(/^rpc error: code = Unavailable desc = /);
});

test('skips lists that were replaced before they could be used, and ends with the last', async () => {
  await serve({
    listAndWatch: async function* () {
      for (let at = 0; at < 3_000; at++) yield { devices: [aDevice(String(at))] };
    },
  });
  const { end, lists: got } = await lists(await dial());
  expect(end).toBe('ended');
  expect(got.length).toBeLessThan(100);
  expect(got.at(-1)).toEqual([{ id: '2999', healthy: true, numaNodes: undefined }]);
}, 20_000);

test('reads a list of 10,000 devices', async () => {
  const devices = Array.from({ length: 10_000 }, (_, at) => aDevice(`device-${at}`));
  await serve({
    listAndWatch: async function* () {
      yield { devices };
    },
  });
  const { lists: got } = await lists(await dial());
  expect(got[0]?.length).toBe(10_000);
});

const tooLarge: readonly (readonly [string, Changes['listAndWatch'], RegExp])[] = [
  [
    'too many devices',
    async function* () {
      yield { devices: Array.from({ length: 50_001 }, () => aDevice('')) };
    },
    /^the plugin sent more than 50000 devices/,
  ],
  [
    'a device that is too long',
    async function* () {
      yield { devices: [aDevice('x'.repeat(5_000))] };
    },
    /^the plugin sent a device of more than 4096 bytes/,
  ],
  [
    'a message that is too long',
    async function* () {
      yield { devices: Array.from({ length: 2_000 }, () => aDevice('x'.repeat(4_000))) };
    },
    /^rpc error: code = ResourceExhausted desc = Received message larger than max/,
  ],
];
for (const [name, listAndWatch, want] of tooLarge)
  test(`${name} ends the lists with an error`, async () => {
    await serve({ listAndWatch: listAndWatch as NonNullable<typeof listAndWatch> });
    expect((await lists(await dial())).end).toMatch(want);
  });

test('stops to read when its signal aborts', async () => {
  await serve();
  const stop = new AbortController();
  const reading = lists(await dial(), stop.signal);
  await new Promise((resolve) => setTimeout(resolve, 30));
  stop.abort(new Aborted('enough'));
  expect((await reading).end).toBe('enough');
});

test('a reader that stops cancels the stream at the plugin', async () => {
  let cancelled = false;
  await serve({
    listAndWatch: async function* (_, { signal }) {
      yield { devices: [] };
      await hang(signal).catch(() => {
        cancelled = true;
      });
    },
  });
  const connection = await dial();
  for await (const list of connection.devices(never)) if (list.length === 0) break;
  await expect.poll(() => cancelled).toBe(true);
});

test('passes a preferred allocation, and an empty one if the plugin has none', async () => {
  let seen: unknown;
  await serve({
    getPreferredAllocation: async (request) => {
      seen = request;
      const [first] = request.containerRequests;
      return { containerResponses: first?.allocationSize === 0 ? [] : [{ deviceIDs: ['b'] }] };
    },
  });
  const connection = await dial();
  const request = { available: ['a', 'b'], mustInclude: ['b'], size: 1 };
  expect(await connection.preferredAllocation(request, never)).toEqual(['b']);
  expect(seen).toEqual({
    containerRequests: [{ availableDeviceIDs: ['a', 'b'], mustIncludeDeviceIDs: ['b'], allocationSize: 1 }],
  });
  expect(await connection.preferredAllocation({ ...request, size: 0 }, never)).toEqual([]);
});

test('allocates for one container, and reports errors as Go does', async () => {
  let answer: () => typeof emptyAllocation = () => emptyAllocation;
  await serve({
    allocate: async ({ containerRequests }) => {
      const response = answer();
      response.containerResponses.forEach((each, at) => {
        each.envs['IDS'] = containerRequests[at]?.devicesIds.join(',') ?? '';
      });
      return response;
    },
  });
  const connection = await dial();
  expect((await connection.allocate(['a', 'b'], never)).envs).toEqual({ IDS: 'a,b' });
  answer = () => ({ containerResponses: [] });
  expect((await rejection(connection.allocate(['a'], never))).message).toBe(
    'no containers return in allocation response ',
  );
  answer = () => {
    throw new RpcFailure('UNKNOWN', 'no such device');
  };
  expect((await rejection(connection.allocate(['a'], never))).message).toBe(
    'rpc error: code = Unknown desc = no such device',
  );
});

test('a plugin that hangs in Allocate, in its preference or before a start fails at the deadline', async () => {
  await serve({
    allocate: (_, { signal }) => hang(signal),
    getPreferredAllocation: (_, { signal }) => hang(signal),
    preStartContainer: (_, { signal }) => hang(signal),
  });
  const connection = await dial(never, { ...fast, setTimer: (ms, fn) => realClock.setTimer(ms / 500, fn) });
  const request = { available: [], mustInclude: [], size: 1 };
  const texts = await Promise.all([
    failure(connection.allocate(['a'], never)),
    failure(connection.preferredAllocation(request, never)),
    failure(connection.preStart(['a'], never)),
  ]);
  for (const text of texts) expect(text).toMatch(/^rpc error: code = DeadlineExceeded desc = /);
});

test('a plugin that is killed during Allocate fails the call', async () => {
  const server = await serve({ allocate: (_, { signal }) => hang(signal) });
  const call = failure((await dial()).allocate(['a'], never));
  await new Promise((resolve) => setTimeout(resolve, 20));
  await server.close();
  servers.length = 0;
  expect(await call).toMatch(/^rpc error: code = Unavailable desc = /);
});

test('prepares the start of a container', async () => {
  let seen: unknown;
  await serve({
    preStartContainer: async (request) => {
      seen = request;
      return {};
    },
  });
  await (await dial()).preStart(['a'], never);
  expect(seen).toEqual({ devicesIds: ['a'] });
});

async function rejection(work: Promise<unknown>): Promise<Error> {
  const err = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (err instanceof Error) return err;
  throw new Error('did not reject');
}
