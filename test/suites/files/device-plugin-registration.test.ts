// The registration socket of device plugins in a real directory.
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type RegisterRequest,
  RegistrationDefinition,
} from '../../../src/api/kubelet/generated/deviceplugin/v1beta1/api.ts';
import { type Clock, realClock } from '../../../src/base/clock.ts';
import { startComponent } from '../../../src/base/component.ts';
import { KubeletError } from '../../../src/base/errors.ts';
import { silentLogger } from '../../../src/base/log/log.ts';
import { devicePluginDialer } from '../../../src/edge/device-plugin/dial-device-plugin.ts';
import { connectUnix } from '../../../src/edge/grpc-client/unix-client.ts';
import { listenGrpc } from '../../../src/edge/grpc-server/listen-grpc.ts';
import { devicePluginDirectory } from '../../../src/edge/plugins/device-plugin-directory.ts';
import { DevicePluginRegistrationServer } from '../../../src/plugins/registration-server.ts';
import { devicePluginService, type FakeServer, serveRaw, serveServices } from '../../fakes/fake-plugin.ts';
import { checkLeaks, type LeakCheck } from '../../leaks/leaks.ts';

let dir: string;
let directory: string;
let leaks: LeakCheck;
let stop: AbortController;
let stopped: Promise<void> | undefined;
let server: DevicePluginRegistrationServer;
let registered: unknown[];
let fault: Error | undefined;
const servers: FakeServer[] = [];
const never = new AbortController().signal;

beforeEach(() => {
  leaks = checkLeaks({ settleMs: 3_000 });
  dir = mkdtempSync(join(tmpdir(), 'registration-'));
  directory = join(dir, 'device-plugins');
  registered = [];
  fault = undefined;
  stop = new AbortController();
  stopped = undefined;
});

afterEach(async () => {
  stop.abort();
  await stopped;
  for (const each of servers.splice(0)) await each.close();
  rmSync(dir, { recursive: true });
  await leaks.assertNone();
});

const fast: Clock = { ...realClock, sleep: (ms, signal) => realClock.sleep(ms / 20, signal) };

async function start(): Promise<void> {
  server = new DevicePluginRegistrationServer({
    directory,
    listen: (options) => listenGrpc({ ...options, limits: { closeMs: 20 }, clock: realClock }),
    files: devicePluginDirectory,
    registry: {
      register: async (plugin, signal) => {
        if (fault !== undefined) throw fault;
        // As the device manager does inside the call.
        const connection = await devicePluginDialer(realClock).dial(plugin.socket, signal);
        connection.close();
        registered.push(plugin);
      },
    },
    clock: fast,
    log: silentLogger,
  });
  ({ stopped } = await startComponent(server, stop.signal));
}

const socketPath = (): string => join(directory, 'kubelet.sock');

async function register(changes: Partial<RegisterRequest> = {}): Promise<string> {
  const client = await connectUnix({
    path: socketPath(),
    server: 'kubelet',
    clock: realClock,
    timeoutMs: 1_000,
    signal: never,
  });
  const request = {
    version: 'v1beta1',
    endpoint: 'p.sock',
    resourceName: 'example.com/gpu',
    options: undefined,
    ...changes,
  };
  try {
    const limits = { timeoutMs: 3_000, signal: never };
    await client.unary(RegistrationDefinition, RegistrationDefinition.methods.register, request, limits);
    return 'OK';
  } catch (err) {
    return err instanceof KubeletError ? `${err.reason}: ${err.message}` : String(err);
  } finally {
    client.close();
  }
}

test('registers a plugin that serves in the directory', async () => {
  await start();
  servers.push(await serveServices(join(directory, 'p.sock'), [devicePluginService()]));
  expect(await register()).toBe('OK');
  expect(registered).toEqual([
    { resource: 'example.com/gpu', socket: join(directory, 'p.sock'), versions: ['v1beta1'] },
  ]);
  expect(lstatSync(directory).mode & 0o777).toBe(0o750);
  expect(server.check()).toBeUndefined();
});

const rejected: readonly (readonly [Partial<RegisterRequest>, string])[] = [
  [
    { version: 'v1alpha1' },
    'UNKNOWN: requested API version "v1alpha1" is not supported by kubelet. Supported version is ["v1beta1"]',
  ],
  [{ resourceName: 'gpu' }, 'UNKNOWN: the ResourceName "gpu" is invalid'],
  [
    { endpoint: '../p.sock' },
    'UNKNOWN: the endpoint "../p.sock" is not the name of a socket in the directory of device plugins',
  ],
];
for (const [changes, want] of rejected)
  test(`rejects ${JSON.stringify(changes)}`, async () => {
    await start();
    expect(await register(changes)).toBe(want);
    expect(registered).toEqual([]);
  });

test('reports the failure of the device manager to the plugin', async () => {
  await start();
  fault = new KubeletError('internal', 'X', 'failed to get device plugin options: rpc error: …');
  expect(await register()).toBe('UNKNOWN: failed to get device plugin options: rpc error: …');
});

test('refuses a plugin whose socket is a link', async () => {
  await start();
  servers.push(await serveServices(join(dir, 'other.sock'), [devicePluginService()]));
  symlinkSync(join(dir, 'other.sock'), join(directory, 'p.sock'));
  expect(await register()).toContain('failed to dial device plugin: socket');
});

test('removes the sockets of the directory at its start, and nothing else', async () => {
  mkdirSync(directory);
  servers.push(await serveRaw(join(directory, 'old.sock')));
  servers.push(await serveRaw(join(dir, 'kept.sock')));
  symlinkSync(join(dir, 'kept.sock'), join(directory, 'link'));
  writeFileSync(join(directory, 'kubelet_internal_checkpoint'), '{}');
  writeFileSync(join(directory, 'DEPRECATION'), '');
  mkdirSync(join(directory, 'sub'));
  servers.push(await serveRaw(join(directory, 'sub/x.sock')));
  await start();
  expect(readdirSync(directory).toSorted()).toEqual([
    'DEPRECATION',
    'kubelet.sock',
    'kubelet_internal_checkpoint',
    'link',
    'sub',
  ]);
  expect(existsSync(join(dir, 'kept.sock')) && existsSync(join(directory, 'sub/x.sock'))).toBe(true);
});

test('creates its socket again if it, or its directory, is removed, and keeps the sockets of plugins', async () => {
  await start();
  servers.push(await serveServices(join(directory, 'p.sock'), [devicePluginService()]));
  unlinkSync(socketPath());
  await expect.poll(() => existsSync(socketPath())).toBe(true);
  expect(await register()).toBe('OK');
  rmSync(directory, { recursive: true });
  await expect.poll(() => existsSync(socketPath())).toBe(true);
  expect(lstatSync(directory).mode & 0o777).toBe(0o750);
  servers.push(await serveServices(join(directory, 'p.sock'), [devicePluginService()]));
  expect(await register()).toBe('OK');
  expect(server.check()).toBeUndefined();
});

test('is unhealthy while it cannot listen, and recovers', async () => {
  writeFileSync(directory, 'a file in place of the directory');
  await start();
  expect(server.check()).toMatch(
    /^device registration error: device plugin registration gRPC server failed and no device plugins can register: /,
  );
  unlinkSync(directory);
  await expect.poll(() => server.check(), { timeout: 5_000 }).toBeUndefined();
  servers.push(await serveServices(join(directory, 'p.sock'), [devicePluginService()]));
  expect(await register()).toBe('OK');
});

test('a directory counts as used once a kubelet has served in it', async () => {
  const used = join(dir, 'used');
  expect(await devicePluginDirectory.isUnused(used)).toBe(true);
  mkdirSync(used);
  writeFileSync(join(used, '.hidden'), '');
  expect(await devicePluginDirectory.isUnused(used)).toBe(true);
  writeFileSync(join(used, 'kubelet.sock'), '');
  expect(await devicePluginDirectory.isUnused(used)).toBe(false);
});
