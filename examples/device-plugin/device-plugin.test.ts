// The sample against a registration server of this process: registration, re-registration, the calls, and its faults.
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, credentials, Server, ServerCredentials, type sendUnaryData } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type AllocateResponse,
  DevicePluginDefinition,
  type DevicePluginOptions,
  ListAndWatchResponse,
  type PreferredAllocationResponse,
  type RegisterRequest,
  RegistrationDefinition,
} from '../../src/api/kubelet/generated/deviceplugin/v1beta1/api.ts';
import {
  type PluginInfo,
  RegistrationDefinition as PluginRegistration,
} from '../../src/api/kubelet/generated/pluginregistration/v1/api.ts';
import { DeviceList, parseDevices } from './device.ts';
import { type FaultOrders, type LoggedCall, respondWithFaults, steerDevices } from './faults.ts';
import { callOnce, serviceDefinition } from './grpc.ts';
import { keepInRegistry, keepRegistered, socketName } from './register.ts';
import { type Respond, respondAtOnce, type SampleOptions, SampleService } from './service.ts';

const resource = 'example.com/sample';
let dir: string;
const cleanups: (() => void | Promise<void>)[] = [];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'sample-'));
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  rmSync(dir, { recursive: true });
});

/** The kubelet's end of the registration. */
async function startRegistrationServer(): Promise<{ readonly requests: RegisterRequest[]; stop(): void }> {
  const requests: RegisterRequest[] = [];
  const server = new Server({ 'grpc.enable_channelz': 0 });
  server.addService(serviceDefinition(RegistrationDefinition), {
    register({ request }: { readonly request: RegisterRequest }, callback: sendUnaryData<unknown>) {
      requests.push(request);
      callback(null, {});
    },
  });
  const address = `unix:${join(dir, 'kubelet.sock')}`;
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(address, ServerCredentials.createInsecure(), (err) => (err ? reject(err) : resolve())),
  );
  const stop = (): void => server.forceShutdown();
  cleanups.push(stop);
  return { requests, stop };
}

function aService(devices: DeviceList, over: Partial<SampleOptions> = {}, respond: Respond = respondAtOnce) {
  const options = { resource, preStart: false, preferred: false, cdi: false, ...over };
  return new SampleService({ devices, options, respond });
}

/** Runs one of the registration loops until the end of the test. */
function keep(loop: typeof keepRegistered, service: SampleService): void {
  const stop = new AbortController();
  const ended = loop(dir, { service, resource, signal: stop.signal, log: () => undefined });
  cleanups.push(() => {
    stop.abort();
    return ended;
  });
}

async function serve(service: SampleService): Promise<string> {
  const socket = join(dir, 'plugin.sock');
  await service.start(socket);
  cleanups.push(() => service.stop());
  return socket;
}

const allocate = (socket: string, ...devicesIds: readonly string[]): Promise<AllocateResponse> =>
  callOnce(socket, DevicePluginDefinition, 'allocate', { containerRequests: [{ devicesIds }] }, 2_000);

/** The lists that ListAndWatch sends, each as `0:Healthy 1:Unhealthy`. */
function watchDevices(socket: string): readonly string[] {
  const client = new Client(`unix:${socket}`, credentials.createInsecure(), { 'grpc.enable_channelz': 0 });
  const stream = client.makeServerStreamRequest(
    '/v1beta1.DevicePlugin/ListAndWatch',
    () => Buffer.alloc(0),
    (bytes: Buffer) => ListAndWatchResponse.decode(bytes),
    {},
  );
  const lists: string[] = [];
  stream.on('data', ({ devices }: ListAndWatchResponse) => {
    lists.push(devices.map(({ ID, health }) => `${ID}:${health}`).join(' '));
  });
  stream.on('error', () => undefined);
  cleanups.push(() => {
    stream.cancel();
    client.close();
  });
  return lists;
}

describe('parseDevices', () => {
  test.each([
    ['2', '', '0@- 1@-'],
    ['a,b', '0', 'a@0 b@-'],
    ['3', '1,-,0', '0@1 1@- 2@0'],
    ['0', '', ''],
  ])('%s with --numa=%s', (devices, numa, want) => {
    const found = parseDevices(devices, numa).map(({ id, numaNode }) => `${id}@${numaNode ?? '-'}`);
    expect(found.join(' ')).toBe(want);
  });

  test('rejects a NUMA node that is no number', () => {
    expect(() => parseDevices('1', 'x')).toThrow('--numa: "x" is not a NUMA node');
  });
});

describe('registration', () => {
  test('serves before it registers, and registers again with a kubelet that removed its socket', async () => {
    const first = await startRegistrationServer();
    keep(keepRegistered, aService(new DeviceList(parseDevices('2')), { preStart: true }));
    await expect.poll(() => first.requests.length).toBe(1);
    expect(first.requests[0]).toEqual({
      version: 'v1beta1',
      endpoint: socketName(resource),
      resourceName: resource,
      options: { preStartRequired: true, getPreferredAllocationAvailable: false },
    });
    const own = join(dir, socketName(resource));
    const options = await callOnce<DevicePluginOptions>(
      own,
      DevicePluginDefinition,
      'getDevicePluginOptions',
      {},
    );
    expect(options.preStartRequired).toBe(true);

    first.stop();
    rmSync(own);
    const second = await startRegistrationServer();
    await expect.poll(() => second.requests.length).toBe(1);
    expect(existsSync(own)).toBe(true);
    expect((await allocate(own, '1')).containerResponses).toHaveLength(1);
    expect(first.requests).toHaveLength(1);
  });

  test('waits for a kubelet that has not started yet', async () => {
    keep(keepRegistered, aService(new DeviceList(parseDevices('1'))));
    const kubelet = await startRegistrationServer();
    await expect.poll(() => kubelet.requests.length).toBe(1);
  });

  test('presents itself in plugins_registry, and again after its socket was removed', async () => {
    keep(keepInRegistry, aService(new DeviceList(parseDevices('1'))));
    const own = join(dir, socketName(resource));
    for (const isRemoved of [false, true]) {
      if (isRemoved) rmSync(own);
      await expect.poll(() => existsSync(own)).toBe(true);
      expect(await callOnce<PluginInfo>(own, PluginRegistration, 'getInfo', {})).toEqual({
        type: 'DevicePlugin',
        name: resource,
        endpoint: own,
        supportedVersions: ['v1beta1'],
      });
    }
    expect((await allocate(own, '0')).containerResponses).toHaveLength(1);
  });
});

describe('the service', () => {
  test('answers Allocate with nodes, environment, annotation and mount', async () => {
    const socket = await serve(aService(new DeviceList(parseDevices('3')), { mount: '/srv' }));
    expect((await allocate(socket, '0', '2')).containerResponses).toEqual([
      {
        envs: { SAMPLE_DEVICES: '0,2' },
        mounts: [{ hostPath: '/srv', containerPath: '/var/lib/sample', readOnly: true }],
        devices: [
          { hostPath: '/dev/null', containerPath: '/dev/sample-0', permissions: 'rw' },
          { hostPath: '/dev/full', containerPath: '/dev/sample-2', permissions: 'rw' },
        ],
        annotations: { 'sample-device-plugin/devices': '0,2' },
        cdiDevices: [],
      },
    ]);
    await expect(allocate(socket, 'x')).rejects.toThrow('unknown device x');
  });

  test('answers with CDI names instead of nodes on request', async () => {
    const socket = await serve(aService(new DeviceList(parseDevices('1')), { cdi: true }));
    const [answer] = (await allocate(socket, '0')).containerResponses;
    expect(answer).toMatchObject({ devices: [], cdiDevices: [{ name: `${resource}=0` }] });
  });

  test('prefers the last devices and keeps those that must be included', async () => {
    const socket = await serve(aService(new DeviceList(parseDevices('4')), { preferred: true }));
    const request = {
      availableDeviceIDs: ['0', '1', '2', '3'],
      mustIncludeDeviceIDs: ['0'],
      allocationSize: 2,
    };
    const answer = await callOnce<PreferredAllocationResponse>(
      socket,
      DevicePluginDefinition,
      'getPreferredAllocation',
      { containerRequests: [request] },
    );
    expect(answer.containerResponses).toEqual([{ deviceIDs: ['0', '3'] }]);
  });

  test('sends the list at once and after every change', async () => {
    const devices = new DeviceList(parseDevices('2'));
    const lists = watchDevices(await serve(aService(devices)));
    await expect.poll(() => lists).toEqual(['0:Healthy 1:Healthy']);
    devices.set(devices.all().map((device) => ({ ...device, healthy: device.id !== '0' })));
    await expect.poll(() => lists.at(-1)).toBe('0:Unhealthy 1:Healthy');
  });
});

describe('faults', () => {
  const order = (orders: FaultOrders): string => {
    const file = join(dir, 'faults.json');
    writeFileSync(`${file}.new`, JSON.stringify(orders));
    renameSync(`${file}.new`, file);
    return file;
  };

  test('calls are logged, and misbehave as long as the control file orders it', async () => {
    const log = join(dir, 'calls.jsonl');
    const control = order({ onCall: { Allocate: 'relative-paths' } });
    const devices = new DeviceList(parseDevices('1'));
    const socket = await serve(aService(devices, {}, respondWithFaults(control, log)));
    const [garbage] = (await allocate(socket, '0')).containerResponses;
    expect(garbage?.devices[0]?.containerPath).toBe('dev/sample');
    order({ onCall: { Allocate: 'error' } });
    await expect(allocate(socket, '0')).rejects.toThrow('Allocate fails on order');
    order({});
    expect((await allocate(socket, '0')).containerResponses).toHaveLength(1);
    const calls = readFileSync(log, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as LoggedCall);
    const request = { containerRequests: [{ devicesIds: ['0'] }] };
    const call = { pid: process.pid, call: 'Allocate', request };
    expect(calls).toEqual([{ ...call, fault: 'relative-paths' }, { ...call, fault: 'error' }, call]);
  });

  test('the list follows the control file, also after a flood of updates', async () => {
    const control = order({ unhealthy: ['1'] });
    const devices = new DeviceList(parseDevices('3'));
    const stop = new AbortController();
    const ended = steerDevices(control, devices, stop.signal);
    cleanups.push(() => {
      stop.abort();
      return ended;
    });
    const lists = watchDevices(await serve(aService(devices)));
    await expect.poll(() => lists.at(-1)).toBe('0:Healthy 1:Unhealthy 2:Healthy');
    order({ missing: ['2'], flood: 2_000 });
    await expect.poll(() => lists.length).toBeGreaterThan(2_000);
    await expect.poll(() => lists.at(-1)).toBe('0:Healthy 1:Healthy');
  });
});
