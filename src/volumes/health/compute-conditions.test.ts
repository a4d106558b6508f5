import { describe, expect, test } from 'vitest';
import {
  VolumeCapability_AccessMode_Mode as Mode,
  type VolumeCapability,
} from '../../api/csi/generated/csi/v1/csi.ts';
import { computeStorageConditions, computeVolumeConditions } from './compute-conditions.ts';

const entry = (status: number, reason = 'DiskSlow', message = '') => ({
  status: status as 1,
  reason,
  message,
});
const ofVolume = (...healthStatuses: ReturnType<typeof entry>[]) =>
  computeVolumeConditions({ volumeHealth: { volumeId: 'v', healthStatuses } });
const ofStorage = (...given: (ReturnType<typeof entry> & { volumeCapability?: VolumeCapability })[]) =>
  computeStorageConditions({
    backendHealth: given.map((each) => ({ volumeCapability: undefined, ...each })),
  });

describe('computeVolumeConditions', () => {
  test('reports every status that is known, and drops those of a later version of CSI', () => {
    expect(ofVolume(entry(1), entry(2), entry(3), entry(0), entry(4))).toEqual([
      { status: 'Degraded', reason: 'DiskSlow' },
      { status: 'Inaccessible', reason: 'DiskSlow' },
      { status: 'DataLoss', reason: 'DiskSlow' },
    ]);
  });

  test('an answer without health is a healthy volume', () => {
    expect(computeVolumeConditions({ volumeHealth: undefined })).toEqual([]);
    expect(ofVolume()).toEqual([]);
  });

  test('keeps the first of the conditions with the same status and reason', () => {
    expect(ofVolume(entry(1, 'A', 'first'), entry(2, 'A'), entry(1, 'A', 'second'))).toEqual([
      { status: 'Degraded', reason: 'A', message: 'first' },
      { status: 'Inaccessible', reason: 'A' },
    ]);
  });

  test('keeps 16 conditions', () => {
    const many = Array.from({ length: 20 }, (_, at) => entry(1, `R${at}`));
    expect(ofVolume(...many).map(({ reason }) => reason)).toEqual(
      Array.from({ length: 16 }, (_, at) => `R${at}`),
    );
  });

  const reasons: readonly (readonly [string, boolean])[] = [
    ['DiskSlow', true],
    ['A', true],
    ['Scsi_3:Timeout,Path', true],
    ['x'.repeat(256), true],
    ['x'.repeat(257), false],
    ['', false],
    ['disk slow', false],
    ['3Disks', false],
    ['Disk:', false],
    ['Disk,', false],
    ['Disk_', true],
    ['Disk\n', false],
    ['Größe', false],
    ['../etc', false],
  ];
  for (const [reason, isKept] of reasons)
    test(`the reason ${JSON.stringify(reason.slice(0, 30))} is ${isKept ? 'kept' : 'replaced'}`, () => {
      expect(ofVolume(entry(1, reason))).toEqual([
        { status: 'Degraded', reason: isKept ? reason : 'InvalidReason' },
      ]);
    });

  const messages: readonly (readonly [string, string, number])[] = [
    ['short', 'slow', 4],
    ['ASCII', 'a'.repeat(5_000), 1_024],
    ['two bytes', 'ü'.repeat(5_000), 512],
    ['pairs of units', '😀'.repeat(5_000), 512],
    ['that fits', 'a'.repeat(1_024), 1_024],
  ];
  for (const [what, message, units] of messages)
    test(`a message (${what}) has at most 1024 bytes, cut between characters`, () => {
      const [condition] = ofVolume(entry(1, 'A', message));
      expect(condition?.message).toBe(message.slice(0, units));
      expect(Buffer.byteLength(condition?.message ?? '')).toBeLessThanOrEqual(1_024);
    });
});

describe('computeStorageConditions', () => {
  const mounted = (mode: number): VolumeCapability => ({
    mount: { fsType: '', mountFlags: [], volumeMountGroup: '' },
    accessMode: { mode: mode as 1 },
  });

  test('reports every status that is known', () => {
    expect(ofStorage(entry(1), entry(2, 'Down', 'no route'), entry(3), entry(0))).toEqual([
      { status: 'StorageDegraded', reason: 'DiskSlow' },
      { status: 'StorageUnreachable', reason: 'Down', message: 'no route' },
    ]);
    expect(ofStorage()).toEqual([]);
  });

  const modes: readonly (readonly [number, string])[] = [
    [Mode.SINGLE_NODE_WRITER, 'ReadWriteOnce'],
    [Mode.SINGLE_NODE_READER_ONLY, 'ReadWriteOnce'],
    [Mode.SINGLE_NODE_MULTI_WRITER, 'ReadWriteOnce'],
    [Mode.SINGLE_NODE_SINGLE_WRITER, 'ReadWriteOncePod'],
    [Mode.MULTI_NODE_READER_ONLY, 'ReadOnlyMany'],
    [Mode.MULTI_NODE_SINGLE_WRITER, 'ReadWriteMany'],
    [Mode.MULTI_NODE_MULTI_WRITER, 'ReadWriteMany'],
  ];
  for (const [mode, accessMode] of modes)
    test(`access mode ${mode} is ${accessMode}`, () => {
      expect(ofStorage({ ...entry(1), volumeCapability: mounted(mode) })).toMatchObject([
        { accessMode, volumeMode: 'Filesystem' },
      ]);
    });

  test('a capability of block volumes', () => {
    const volumeCapability = { block: {}, accessMode: { mode: Mode.SINGLE_NODE_WRITER } };
    expect(ofStorage({ ...entry(1), volumeCapability })).toMatchObject([{ volumeMode: 'Block' }]);
  });

  const faults: readonly (readonly [VolumeCapability, string])[] = [
    [{ accessMode: { mode: 1 } }, 'access type is required'],
    [{ block: {}, accessMode: undefined }, 'access mode is required'],
    [mounted(0), 'unsupported access mode "UNKNOWN"'],
    [mounted(77), 'unsupported access mode "77"'],
  ];
  for (const [volumeCapability, why] of faults)
    test(`rejects the whole answer: ${why}`, () => {
      expect(() => ofStorage(entry(1), { ...entry(2), volumeCapability })).toThrow(
        `NodeGetStorageHealth condition 1 has invalid volume capability: ${why}`,
      );
    });

  test('rejects more than 16 conditions', () => {
    const many = Array.from({ length: 17 }, () => entry(1));
    expect(() => ofStorage(...many)).toThrow('NodeGetStorageHealth returned 17 conditions, maximum is 16');
    expect(ofStorage(...many.slice(1))).toHaveLength(16);
  });

  test('texts are bounded as those of volumes', () => {
    expect(ofStorage(entry(1, 'no reason', 'a'.repeat(2_000)))).toEqual([
      { status: 'StorageDegraded', reason: 'InvalidReason', message: 'a'.repeat(1_024) },
    ]);
  });
});
