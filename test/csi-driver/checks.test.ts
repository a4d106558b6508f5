import { expect, test } from 'vitest';
import {
  VolumeCapability_AccessMode_Mode as Mode,
  type VolumeCapability,
} from '../../src/api/csi/generated/csi/v1/csi.ts';
import {
  computeCapabilityFault,
  computeFieldFault,
  computeKind,
  computeRangeFault,
  isMissing,
} from './checks.ts';
import type { CapabilityName, VolumeKind } from './options.ts';

const mount = (fsType = '', volumeMountGroup = ''): VolumeCapability => ({
  mount: { fsType, mountFlags: [], volumeMountGroup },
  accessMode: { mode: Mode.SINGLE_NODE_WRITER },
});
const accessMode = { mode: Mode.SINGLE_NODE_WRITER };
const block: VolumeCapability = { block: {}, accessMode };

const capabilities: readonly (readonly [
  string,
  VolumeCapability | undefined,
  VolumeKind,
  readonly CapabilityName[],
  RegExp | undefined,
])[] = [
  ['none', undefined, 'directory', [], /missing/],
  ['a mount', mount(), 'directory', [], undefined],
  ['no access type', { accessMode }, 'directory', [], /one access type/],
  ['two access types', { ...mount(), block: {} }, 'directory', [], /one access type/],
  ['a block device of a directory', block, 'directory', [], /block is not supported/],
  ['a block device', block, 'block', [], undefined],
  ['a mount of a block device', mount(), 'block', [], /mount is not supported/],
  ['no access mode', { ...mount(), accessMode: undefined }, 'directory', [], /access_mode/],
  ['an unknown access mode', { ...mount(), accessMode: { mode: 0 } }, 'directory', [], /access_mode/],
  ['a new mode', { ...mount(), accessMode: { mode: 6 } }, 'directory', [], /SINGLE_NODE_MULTI_WRITER/],
  [
    'a supported new mode',
    { ...mount(), accessMode: { mode: 6 } },
    'ext4',
    ['single-node-multi-writer'],
    undefined,
  ],
  ['another file system', mount('xfs'), 'ext4', [], /fs_type xfs/],
  ['the same file system', mount('ext4'), 'ext4', [], undefined],
  ['a group', mount('', '2000'), 'tmpfs', [], /volume_mount_group/],
  ['a supported group', mount('', '2000'), 'tmpfs', ['volume-mount-group'], undefined],
];

for (const [name, capability, kind, supported, want] of capabilities)
  test(`the capability of a request: ${name}`, () => {
    const fault = computeCapabilityFault(capability, kind, new Set(supported));
    if (want === undefined) expect(fault).toBeUndefined();
    else expect(fault).toEqual({ code: 'INVALID_ARGUMENT', message: expect.stringMatching(want) as string });
  });

test('required fields are neither empty nor relative paths', () => {
  const request = { volumeId: 'v', targetPath: 'relative', stagingTargetPath: '/a' };
  expect(computeFieldFault(request, ['volumeId', 'stagingTargetPath'])).toBeUndefined();
  expect(computeFieldFault(request, ['volumeId', 'volumePath'])?.message).toMatch(/volume_path is missing/);
  expect(computeFieldFault(request, ['targetPath'])?.message).toMatch(/target_path "relative" is not/);
});

const ranges = [
  ['no range', undefined, undefined],
  ['within the limits', { requiredBytes: 10n, limitBytes: 20n }, undefined],
  ['more than its own limit', { requiredBytes: 21n, limitBytes: 20n }, 'OUT_OF_RANGE'],
  ["more than the driver's limit", { requiredBytes: 101n, limitBytes: 0n }, 'OUT_OF_RANGE'],
  ['negative', { requiredBytes: -1n, limitBytes: 0n }, 'INVALID_ARGUMENT'],
] as const;

for (const [name, range, want] of ranges)
  test(`the capacity of a request: ${name}`, () => {
    expect(computeRangeFault(range, 100)?.code).toBe(want);
  });

test('the kind comes from the context, else from the handle, else from the flags', () => {
  expect(computeKind('ext4-1', { kind: 'block' }, 'directory')).toBe('block');
  expect(computeKind('ext4-1', {}, 'directory')).toBe('ext4');
  expect(computeKind('other', { kind: 'nonsense' }, 'tmpfs')).toBe('tmpfs');
  expect([isMissing('missing-1'), isMissing('v')]).toEqual([true, false]);
});
