import { expect, test } from 'vitest';
import type { CsiRegistration } from '../api/ports/csi.ts';
import { driverInfo, registrationFault } from './driver-info.ts';

const registration = (changes: Partial<CsiRegistration> = {}): CsiRegistration => ({
  name: 'disk.example.com',
  endpoint: '/p/csi.sock',
  versions: ['1.0.0'],
  ...changes,
});

const where = 'validation failed for CSI Driver disk.example.com at endpoint /p/csi.sock: ';
const cases: readonly (readonly [string, Partial<CsiRegistration>, string | undefined])[] = [
  ['a driver', {}, undefined],
  ['capital letters, as the API allows', { name: 'Disk.Example.com' }, undefined],
  ['a name of 63 characters', { name: 'a'.repeat(63) }, undefined],
  [
    'a version that is not supported',
    { versions: ['0.3.0'] },
    `${where}kubernetes.io/csi: ValidatePlugin for CSI driver "disk.example.com" failed. None of the versions specified ["0.3.0"] are supported. err=highest supported version reported is 0.3.0, must be v1.x`,
  ],
];
for (const [name, changes, want] of cases)
  test(`registrationFault: ${name}`, () => expect(registrationFault(registration(changes))).toBe(want));

const invalidNames = ['', 'a'.repeat(64), '../x', 'a/b', 'a..b', 'a b', 'a\nb', '-a', 'x'.repeat(1_000_000)];
for (const name of invalidNames)
  test(`rejects the name ${JSON.stringify(name.slice(0, 70))}`, () => {
    const fault = registrationFault(registration({ name })) ?? '';
    expect(fault).toContain('the name of the driver');
    expect(fault.length).toBeLessThan(2_000);
  });

for (const endpoint of ['', 'csi.sock', './csi.sock', '/a\0b', `/${'x'.repeat(10_000)}`])
  test(`rejects the endpoint ${JSON.stringify(endpoint.slice(0, 20))}`, () =>
    expect(registrationFault(registration({ endpoint }))).toContain('not an absolute path'));

const node = (nodeId: string, segments: Record<string, string> = {}) =>
  driverInfo('d', { nodeId, maxVolumesPerNode: 7n, accessibleTopology: { segments } });

test('driverInfo: what the driver reports', () => {
  expect(node('i-1', { 'example.com/zone': 'a' })).toEqual({
    driver: 'd',
    nodeId: 'i-1',
    maxVolumes: 7n,
    topology: { 'example.com/zone': 'a' },
  });
  expect(
    driverInfo('d', { nodeId: 'i', maxVolumesPerNode: 0n, accessibleTopology: undefined }).topology,
  ).toEqual({});
});

const prefix = 'error adding CSI driver node info: ';
const many = Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`example.com/k${at}`, 'v']));
const rejected: readonly (readonly [string, () => unknown, string])[] = [
  ['an empty node ID', () => node(''), `${prefix}driverNodeID must not be empty`],
  ['a long node ID', () => node('é'.repeat(129)), `${prefix}driverNodeID must be 256 characters or less`],
  ['an invalid key', () => node('i', { 'a b': 'x' }), `${prefix}the topology segment "a b":"x"`],
  ['an invalid value', () => node('i', { zone: 'a/b' }), `${prefix}the topology segment "zone":"a/b"`],
  ['a value of a megabyte', () => node('i', { zone: 'x'.repeat(2 ** 20) }), 'is not a valid label'],
  ['too many segments', () => node('i', many), 'the driver reported 65 topology segments, more than 64'],
];
for (const [name, work, want] of rejected)
  test(`driverInfo rejects ${name}`, () => expect(work).toThrow(want));
