import { expect, test } from 'vitest';
import { devicePluginHandler } from './device-plugin-handler.ts';
import { endpointFault, resourceFault, versionFault } from './device-plugin-names.ts';
import type { PluginInfo } from './plugin-handler.ts';

const info = (changes: Partial<PluginInfo> = {}): PluginInfo => ({
  socket: '/r/a.sock',
  type: 'DevicePlugin',
  name: 'example.com/gpu',
  endpoint: '/p/gpu.sock',
  versions: ['v1beta1'],
  ...changes,
});

const handlerWith = (calls: unknown[]) =>
  devicePluginHandler({
    register: async (plugin) => void calls.push(['register', plugin]),
    deregister: (plugin) => void calls.push(['deregister', plugin]),
  });

const invalidName = (name: string): string =>
  `invalid name of device plugin socket: the ResourceName ${JSON.stringify(name)} is invalid`;

const cases: readonly (readonly [string, Partial<PluginInfo>, string | undefined])[] = [
  ['a device plugin', {}, undefined],
  ['one of several versions', { versions: ['v1', 'v1beta1'] }, undefined],
  [
    'other versions only',
    { versions: ['v1', 'v2'] },
    'manager version, v1beta1, is not among plugin supported versions [v1 v2]',
  ],
  ['no versions', { versions: [] }, 'manager version, v1beta1, is not among plugin supported versions []'],
  ['no domain', { name: 'gpu' }, invalidName('gpu')],
  ['a native resource', { name: 'kubernetes.io/gpu' }, invalidName('kubernetes.io/gpu')],
  ['a quota', { name: 'requests.example.com/gpu' }, invalidName('requests.example.com/gpu')],
  ['an invalid character', { name: 'example.com/g pu' }, invalidName('example.com/g pu')],
  ['a relative endpoint', { endpoint: 'gpu.sock' }, 'the endpoint of the plugin is not an absolute path'],
];
for (const [name, changes, want] of cases)
  test(`validate: ${name}`, () => expect(handlerWith([]).validate(info(changes))).toBe(want));

test('passes registrations to the device manager', async () => {
  const calls: unknown[] = [];
  const handler = handlerWith(calls);
  await handler.register(info(), new AbortController().signal);
  await handler.deregister({ name: 'example.com/gpu', endpoint: '/p/gpu.sock' });
  const plugin = { resource: 'example.com/gpu', socket: '/p/gpu.sock' };
  expect(calls).toEqual([
    ['register', { ...plugin, versions: ['v1beta1'] }],
    ['deregister', plugin],
  ]);
});

test('the messages for a registration on kubelet.sock', () => {
  expect(versionFault('v1alpha')).toBe(
    'requested API version "v1alpha" is not supported by kubelet. Supported version is ["v1beta1"]',
  );
  expect(resourceFault('gpu')).toBe('the ResourceName "gpu" is invalid');
  expect(resourceFault(`example.com/${'x'.repeat(64)}`)).toContain('is invalid');
  expect(resourceFault('x/'.repeat(1_000_000))?.length).toBeLessThan(600);
});

for (const endpoint of ['', '.', '..', 'a/b', '/etc/x.sock', '../x.sock', 'kubelet.sock', 'a\0b'])
  test(`rejects the endpoint ${JSON.stringify(endpoint)}`, () =>
    expect(endpointFault(endpoint)).toContain('is not the name of a socket'));

test('accepts the name of a socket', () => {
  expect(endpointFault('gpu.sock')).toBeUndefined();
});
