import { expect, test } from 'vitest';
import { ContainerAllocateResponse } from '../../api/kubelet/generated/deviceplugin/v1beta1/api.ts';
import { computeResponseFault, decodeResponse, encodeResponse } from './allocate-response.ts';
import { computeGrants } from './device-grants.ts';

type Parts = Parameters<typeof ContainerAllocateResponse.create>[0];
const create = (parts: Parts): ContainerAllocateResponse => ContainerAllocateResponse.create(parts);
const device = { containerPath: '/dev/x', hostPath: '/dev/x0', permissions: 'rw' };
const mount = { containerPath: '/lib', hostPath: '/opt/lib', readOnly: true };
const good = create({
  envs: { B: '2', A: '1' },
  devices: [device],
  mounts: [mount],
  annotations: { 'x.example/y': 'z' },
  cdiDevices: [{ name: 'v.example/c=1' }],
});

const faults = [
  [
    'a relative host path',
    { devices: [{ ...device, hostPath: 'dev/x' }] },
    'host path "dev/x", which is not absolute',
  ],
  [
    'no container path',
    { devices: [{ ...device, containerPath: '' }] },
    'container path "", which is not absolute',
  ],
  [
    'a relative mount',
    { mounts: [{ ...mount, containerPath: 'lib' }] },
    'mount has the container path "lib"',
  ],
  ['a NUL in a path', { mounts: [{ ...mount, hostPath: '/a\0b' }] }, 'with a NUL character'],
  [
    'a long path',
    { mounts: [{ ...mount, hostPath: `/${'a'.repeat(5_000)}` }] },
    'host path of 5001 characters',
  ],
  ['other permissions', { devices: [{ ...device, permissions: 'rwx' }] }, 'has the permissions "rwx"'],
  ['an invalid variable', { envs: { 'A=B': '1' } }, 'environment variable name "A=B" is invalid'],
  ['a NUL in a value', { envs: { A: '\0' } }, 'has a NUL character'],
  ['an annotation without a name', { annotations: { '': 'x' } }, 'annotation without a name'],
  ['a CDI device without a name', { cdiDevices: [{ name: '' }] }, 'CDI device without a name'],
  [
    'too many devices',
    { devices: Array.from({ length: 1_001 }, () => device) },
    'it has 1001 devices, more than 1000',
  ],
  ['too many bytes', { envs: { A: 'x'.repeat(300_000) } }, 'bytes, more than 262144'],
] as const;
for (const [name, parts, why] of faults)
  test(`rejects a response with ${name}`, () => {
    expect(computeResponseFault(create(parts as Parts))).toContain(why);
  });

test('accepts a response, and encodes equal ones equally', () => {
  expect(computeResponseFault(good)).toBeUndefined();
  const other = create({ ...good, envs: { A: '1', B: '2' } });
  expect(encodeResponse(other)).toEqual(encodeResponse(good));
  expect(decodeResponse(encodeResponse(good))).toEqual(good);
  expect(decodeResponse(new Uint8Array([10, 200]))).toBeUndefined();
});

test('merges responses: the first setting wins, and a conflict is reported', () => {
  const second = create({
    envs: { A: 'other', C: '3' },
    devices: [device, { ...device, containerPath: '/dev/y' }],
    mounts: [{ ...mount, hostPath: '/other' }],
    annotations: { 'x.example/y': 'z' },
    cdiDevices: [{ name: 'v.example/c=1' }, { name: 'v.example/c=2' }],
  });
  const { conflicts, grants } = computeGrants([good, second]);
  expect(grants).toEqual({
    env: new Map([
      ['A', '1'],
      ['B', '2'],
      ['C', '3'],
    ]),
    devices: [device, { ...device, containerPath: '/dev/y' }],
    mounts: [mount],
    annotations: new Map([['x.example/y', 'z']]),
    cdiDevices: ['v.example/c=1', 'v.example/c=2'],
  });
  expect(conflicts).toEqual([
    { what: 'environment variable', key: 'A', used: '1', ignored: 'other' },
    { what: 'mount', key: '/lib', used: '/opt/lib', ignored: '/other' },
  ]);
});
