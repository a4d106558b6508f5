// The plugin manager and plugins on real sockets: hung, broken, killed, hostile and numerous ones.
import { chownSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RegistrationStatus } from '../../../src/api/kubelet/generated/pluginregistration/v1/api.ts';
import { RpcFailure } from '../../../src/api/kubelet/rpc-service.ts';
import { realClock } from '../../../src/base/clock.ts';
import { startComponent } from '../../../src/base/component.ts';
import { silentLogger } from '../../../src/base/log/log.ts';
import { registrationDialer } from '../../../src/edge/plugins/registration-client.ts';
import { watchSockets } from '../../../src/edge/plugins/watch-sockets.ts';
import { devicePluginHandler } from '../../../src/plugins/device-plugin-handler.ts';
import { PluginManager } from '../../../src/plugins/plugin-manager.ts';
import {
  type FakeServer,
  hang,
  registrationService,
  serveRaw,
  serveServices,
} from '../../fakes/fake-plugin.ts';
import { checkLeaks, type LeakCheck } from '../../leaks/leaks.ts';

let dir: string;
let root: string;
let leaks: LeakCheck;
let stop: AbortController;
let stopped: Promise<void>;
/** Registered resources with their sockets. */
let registered: Map<string, string>;
let registrations: number;
let statuses: RegistrationStatus[];
const servers: FakeServer[] = [];

beforeEach(async () => {
  leaks = checkLeaks({ settleMs: 3_000 });
  dir = mkdtempSync(join(tmpdir(), 'plugins-'));
  root = join(dir, 'plugins_registry');
  mkdirSync(root);
  registered = new Map();
  registrations = 0;
  statuses = [];
  stop = new AbortController();
  const manager = new PluginManager({
    directory: root,
    watch: watchSockets,
    dial: registrationDialer(realClock),
    handlers: new Map([['DevicePlugin', devicePluginHandler(registry)]]),
    clock: realClock,
    log: silentLogger,
  });
  ({ stopped } = await startComponent(manager, stop.signal));
});

afterEach(async () => {
  stop.abort();
  await stopped;
  for (const server of servers.splice(0)) await server.close();
  rmSync(dir, { recursive: true });
  await leaks.assertNone();
});

const registry = {
  register: async ({ resource, socket }: { resource: string; socket: string }) => {
    registrations += 1;
    registered.set(resource, socket);
  },
  deregister: ({ resource }: { resource: string }) => void registered.delete(resource),
};

async function plugin(
  name: string,
  changes: Parameters<typeof registrationService>[2] = {},
): Promise<FakeServer> {
  const info = { name: `example.com/${name}` };
  const server = await serveServices(join(root, `${name}.sock`), [
    registrationService(info, statuses, changes),
  ]);
  servers.push(server);
  return server;
}

const resources = (): readonly string[] => [...registered.keys()].toSorted();

test('registers a plugin when its socket appears, and deregisters it when the socket goes', async () => {
  await plugin('a');
  await expect.poll(() => statuses).toEqual([{ pluginRegistered: true, error: '' }]);
  expect([...registered]).toEqual([['example.com/a', join(root, 'a.sock')]]);
  unlinkSync(join(root, 'a.sock'));
  await expect.poll(resources).toEqual([]);
});

test('registers a plugin that dies and returns on the same socket', async () => {
  const first = await plugin('a');
  await expect.poll(() => registrations).toBe(1);
  await first.close();
  await plugin('a');
  await expect.poll(() => registrations).toBe(2);
  expect(resources()).toEqual(['example.com/a']);
});

test('a socket that is recreated many times ends with a registered plugin', async () => {
  for (let round = 0; round < 20; round++) {
    const server = await plugin('a');
    if (round % 3 === 0) await server.close();
    if (round < 19) rmSync(join(root, 'a.sock'), { force: true });
  }
  await expect.poll(resources).toEqual(['example.com/a']);
  expect(statuses.at(-1)).toEqual({ pluginRegistered: true, error: '' });
});

test('plugins that hang, send garbage or have no listener do not delay a good one', async () => {
  await plugin('hangs', { getInfo: (_, { signal }) => hang(signal) });
  servers.push(await serveRaw(join(root, 'silent.sock')));
  servers.push(
    await serveRaw(join(root, 'garbage.sock'), (socket) => socket.write('garbage garbage garbage')),
  );
  servers.push(await serveRaw(join(root, 'closes.sock'), (socket) => socket.destroy()));
  await plugin('good');
  await expect.poll(resources, { timeout: 800 }).toEqual(['example.com/good']);
});

test('a plugin that hangs in GetInfo once is registered by the retry', async () => {
  let calls = 0;
  const info = { type: 'DevicePlugin', name: 'example.com/a', endpoint: '', supportedVersions: ['v1beta1'] };
  await plugin('a', {
    getInfo: (_, { signal }) => {
      calls += 1;
      return calls === 1 ? hang(signal) : Promise.resolve(info);
    },
  });
  await expect.poll(resources, { timeout: 4_000 }).toEqual(['example.com/a']);
});

test('a plugin whose notification fails is deregistered and registered again', async () => {
  let calls = 0;
  await plugin('a', {
    notifyRegistrationStatus: async (status) => {
      calls += 1;
      if (calls === 1) throw new RpcFailure('UNKNOWN', 'not now');
      statuses.push(status);
      return {};
    },
  });
  await expect.poll(() => statuses.length, { timeout: 4_000 }).toBe(1);
  expect([registrations, resources()]).toEqual([2, ['example.com/a']]);
});

test('a response that is too large is not accepted', async () => {
  await plugin('a', {
    getInfo: async () => ({
      type: 'DevicePlugin',
      name: 'x'.repeat(100_000),
      endpoint: '',
      supportedVersions: [],
    }),
  });
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect([registrations, statuses]).toEqual([0, []]);
});

test('neither a link nor a socket of another user is dialled', async () => {
  let connections = 0;
  const count = (): void => {
    connections += 1;
  };
  servers.push(await serveRaw(join(dir, 'outside.sock'), count));
  symlinkSync(join(dir, 'outside.sock'), join(root, 'link.sock'));
  if (process.getuid?.() === 0) {
    servers.push(await serveRaw(join(dir, 'foreign.sock'), count));
    chownSync(join(dir, 'foreign.sock'), 4_711, 4_711);
    renameSync(join(dir, 'foreign.sock'), join(root, 'foreign.sock'));
  }
  await plugin('good');
  await expect.poll(resources).toEqual(['example.com/good']);
  expect(connections).toBe(0);
});

test('registers 500 plugins', async () => {
  for (let at = 0; at < 500; at++) await plugin(`p${at}`);
  await expect.poll(() => registered.size, { timeout: 40_000 }).toBe(500);
  rmSync(root, { recursive: true });
  await expect.poll(() => registered.size, { timeout: 20_000 }).toBe(0);
}, 80_000);
