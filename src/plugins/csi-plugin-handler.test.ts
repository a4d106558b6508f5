import { expect, test } from 'vitest';
import { csiPluginHandler } from './csi-plugin-handler.ts';
import type { PluginInfo } from './plugin-handler.ts';
import { pluginHandlers } from './plugin-handlers.ts';
import { RegisteredDevicePlugins } from './registered-device-plugins.ts';

const info: PluginInfo = {
  socket: '/r/disk-reg.sock',
  type: 'CSIPlugin',
  name: 'disk.example.com',
  endpoint: '/p/csi.sock',
  versions: ['1.0.0'],
};
const { signal } = new AbortController();

test('passes registrations to the registry of CSI drivers', async () => {
  const calls: unknown[] = [];
  const handler = csiPluginHandler({
    validate: ({ name }) => (name === 'bad' ? 'why' : undefined),
    register: async (driver) => void calls.push(['register', driver]),
    deregister: async (driver) => void calls.push(['deregister', driver]),
  });
  expect([handler.validate(info), handler.validate({ ...info, name: 'bad' })]).toEqual([undefined, 'why']);
  await handler.register(info, signal);
  await handler.deregister({ name: info.name, endpoint: info.endpoint });
  const driver = { name: 'disk.example.com', endpoint: '/p/csi.sock' };
  expect(calls).toEqual([
    ['register', { ...driver, versions: ['1.0.0'] }],
    ['deregister', driver],
  ]);
});

const devices = { register: async () => undefined, deregister: () => undefined };
const drivers = {
  validate: () => undefined,
  register: async () => undefined,
  deregister: async () => undefined,
};

test('device plugins and CSI drivers register', () => {
  expect([...pluginHandlers(devices, drivers).keys()]).toEqual(['DevicePlugin', 'CSIPlugin']);
});

test('a device plugin counts as registered once the device manager has accepted it, until its socket goes', async () => {
  const announced: string[] = [];
  let fault: Error | undefined;
  const registered = new RegisteredDevicePlugins({
    register: async () => {
      if (fault !== undefined) throw fault;
    },
    deregister: () => undefined,
  });
  registered.changed.subscribe((name) => void announced.push(name));
  const plugin = { resource: 'example.com/gpu', socket: '/p/a.sock', versions: ['v1beta1'] };
  fault = new Error('no');
  await expect(registered.register(plugin, signal)).rejects.toThrow('no');
  expect(registered.isRegistered(plugin.resource)).toBe(false);
  fault = undefined;
  await registered.register(plugin, signal);
  await registered.register({ ...plugin, socket: '/p/b.sock' }, signal);
  registered.deregister(plugin);
  expect(registered.isRegistered(plugin.resource)).toBe(true);
  registered.deregister({ ...plugin, socket: '/p/b.sock' });
  expect(registered.isRegistered(plugin.resource)).toBe(false);
  expect(announced).toEqual(['example.com/gpu', 'example.com/gpu', 'example.com/gpu']);
});
