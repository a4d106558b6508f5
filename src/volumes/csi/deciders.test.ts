import { describe, expect, test } from 'vitest';
import { aContainer, aPod } from '../../../test/builders/builders.ts';
import { aCsiSpec, anInlineSpec, type CsiSpecOver } from '../../../test/builders/csi-rig.ts';
import { csiError } from '../../../test/fakes/fake-csi-drivers.ts';
import type { RpcFailureCode } from '../../api/cri/runtime.ts';
import { rpcFailureCodes } from '../../api/cri/runtime.ts';
import type { CSIDriver, SELinuxOptions } from '../../api/k8s/types.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import { computeAttachFailure } from './compute-attachment.ts';
import { computeAccessMode, computeCapability } from './compute-capability.ts';
import { computeUnsupportedMode, computeVolumeContext, shouldApplyFsGroup } from './compute-driver-policy.ts';
import { computeSeLinuxLabel, contextOption } from './compute-selinux-label.ts';
import { computeStats } from './compute-stats.ts';
import { computeCsiVolume } from './csi-volume.ts';
import { computeExpandFailure } from './expand.ts';
import { failedAt, outcomeOf } from './failure.ts';
import { attachmentName, inlineHandle, isDriverName, parseUniqueName, uniqueName } from './names.ts';
import { blockPaths, csiDeviceMap, locateVolume, stagingPaths } from './paths.ts';

const layout = { podsDir: '/root/pods', pluginsDir: '/root/plugins' };
const allCapabilities = {
  stage: true,
  stats: true,
  expand: true,
  singleNodeMultiWriter: false,
  volumeMountGroup: false,
  volumeHealth: false,
  storageHealth: false,
};
const textOf = (run: () => unknown): unknown => {
  try {
    return run();
  } catch (err) {
    return describeError(err);
  }
};

describe('names and paths', () => {
  test('names are those of the Go kubelet', () => {
    const id = { driver: 'd.csi', handle: 'vol^1/x' };
    expect(uniqueName(id)).toBe('kubernetes.io/csi/d.csi^vol^1/x');
    expect(parseUniqueName(uniqueName(id))).toEqual(id);
    // sha256 of "vol1drivernode", and of the pod's UID followed by the volume's name.
    expect(attachmentName({ driver: 'driver', handle: 'vol1' }, 'node')).toBe(
      'csi-020b920ccdf2f519b9196320929386f12404e2716ce8148804ca82a81e25fa72',
    );
    expect(inlineHandle('uid', 'v')).toBe(
      'csi-805993d7c078d84a6cd26549afcb8ef6e4eefee1458b1f9ebaf9d6996efbf3e5',
    );
  });

  for (const name of [
    'kubernetes.io/nfs/x',
    'kubernetes.io/csi/d',
    'kubernetes.io/csi/../x^h',
    'kubernetes.io/csi/d^',
  ])
    test(`parses no volume from ${name}`, () => expect(parseUniqueName(name)).toBeUndefined());

  for (const name of ['', '.', '..', 'a/b', '-d', 'volumeDevices', 'd^e', 'x'.repeat(64), 'd\n'])
    test(`rejects the driver name ${JSON.stringify(name)}`, () => expect(isDriverName(name)).toBe(false));

  test('paths are those of the Go kubelet', () => {
    const staging = stagingPaths(layout, { driver: 'd.csi', handle: 'h' });
    // sha256 of "h".
    expect(staging.mount).toBe(
      '/root/plugins/kubernetes.io/csi/d.csi/aaa9402664f1a41f40ebbc52c9993eb66aeb366602958fdfaa283b71e64db123/globalmount',
    );
    expect(blockPaths(layout, 'pv')).toMatchObject({
      data: '/root/plugins/kubernetes.io/csi/volumeDevices/pv/data/vol_data.json',
      staging: '/root/plugins/kubernetes.io/csi/volumeDevices/staging/pv',
      publishDir: '/root/plugins/kubernetes.io/csi/volumeDevices/publish/pv',
    });
    expect(csiDeviceMap(layout, 'u', 'pv')).toEqual({
      link: '/root/pods/u/volumeDevices/kubernetes.io~csi/pv',
      target: '/root/plugins/kubernetes.io/csi/volumeDevices/pv/dev/u',
    });
  });

  for (const name of ['', '..', 'a/b', 'x\0', 'x'.repeat(256)])
    test(`makes no path of the name ${JSON.stringify(name.slice(0, 8))}`, () => {
      expect(() => blockPaths(layout, name)).toThrow('is not a valid directory name');
      expect(() => csiDeviceMap(layout, name, 'pv')).toThrow('is not a valid directory name');
    });

  const located: readonly (readonly [string, object | undefined])[] = [
    ['/root/pods/u/volumes/kubernetes.io~csi/pv/mount', { uid: 'u', directoryName: 'pv', isBlock: false }],
    ['/root/pods/u/volumeDevices/kubernetes.io~csi/pv', { uid: 'u', directoryName: 'pv', isBlock: true }],
    ['/root/pods/u/volumes/kubernetes.io~nfs/pv', undefined],
    ['/root/pods/u/volumes/kubernetes.io~csi/pv/mount/x', undefined],
    ['/root/pods/../volumes/kubernetes.io~csi/pv', undefined],
    ['/other', undefined],
  ];
  for (const [path, want] of located)
    test(`locates ${path}`, () => expect(locateVolume(layout, path)).toEqual(want));
});

describe('capability', () => {
  const modes = [
    [[], 1, 7],
    [['ReadWriteOnce', 'ReadWriteMany'], 1, 7],
    [['ReadOnlyMany'], 3, 3],
    [['ReadWriteMany'], 5, 5],
    [['ReadWriteOncePod'], 1, 6],
    [['__proto__'], 0, 0],
  ] as const;
  for (const [accessModes, plain, distinguishing] of modes)
    test(`access modes ${accessModes.join(',')}`, () => {
      expect(computeAccessMode(accessModes, { singleNodeMultiWriter: false })).toBe(plain);
      expect(computeAccessMode(accessModes, { singleNodeMultiWriter: true })).toBe(distinguishing);
    });

  test('the fsGroup goes to drivers that apply it', () => {
    const volume = { accessModes: [], fsType: 'xfs' };
    const access = { isBlock: false, mountFlags: ['ro'], fsGroup: 7 } as const;
    const group = (volumeMountGroup: boolean): string | undefined =>
      computeCapability(volume, { ...allCapabilities, volumeMountGroup }, access).mount?.volumeMountGroup;
    expect([group(false), group(true)]).toEqual(['', '7']);
  });
});

describe('policy of a CSIDriver', () => {
  const inline = { driver: 'd', isEphemeral: true };
  const claim = { driver: 'd', isEphemeral: false };
  const supporting = (...volumeLifecycleModes: string[]): CSIDriver => ({ spec: { volumeLifecycleModes } });
  const cases = [
    ['claim without a CSIDriver', claim, undefined, undefined],
    [
      'inline without a CSIDriver',
      inline,
      undefined,
      'volume mode "Ephemeral" not supported by driver d (no CSIDriver object)',
    ],
    ['claim, listed', claim, supporting('Persistent'), undefined],
    ['inline, listed', inline, supporting('Persistent', 'Ephemeral'), undefined],
    [
      'inline, not listed',
      inline,
      supporting('Persistent', 'X'),
      'volume mode "Ephemeral" not supported by driver d (only supports ["Persistent" "X"])',
    ],
    [
      'claim, not listed',
      claim,
      supporting(),
      'volume mode "Persistent" not supported by driver d (only supports [])',
    ],
  ] as const;
  for (const [name, volume, object, want] of cases)
    test(`lifecycle mode: ${name}`, () => expect(computeUnsupportedMode(volume, object)).toBe(want));

  const byDefault = 'ReadWriteOnceWithFSType';
  const groups = [
    ['default, fsType and RWO', byDefault, { csi: { fsType: 'ext4' } }, {}, true],
    [
      'default, fsType and RWOP',
      byDefault,
      { csi: { fsType: 'ext4' }, pv: { accessModes: ['ReadWriteOncePod'] } },
      {},
      true,
    ],
    ['default, no fsType', byDefault, {}, {}, false],
    [
      'default, RWX',
      byDefault,
      { csi: { fsType: 'ext4' }, pv: { accessModes: ['ReadWriteMany'] } },
      {},
      false,
    ],
    ['default, no access mode', byDefault, { csi: { fsType: 'ext4' }, pv: { accessModes: [] } }, {}, false],
    ['File, RWX without fsType', 'File', { pv: { accessModes: ['ReadWriteMany'] } }, {}, true],
    ['None', 'None', { csi: { fsType: 'ext4' } }, {}, false],
    ['File, read-only', 'File', { spec: { readOnly: true } }, {}, false],
    ['File, no fsGroup', 'File', {}, { fsGroup: undefined }, false],
    ['File, applied by the driver', 'File', {}, { isAppliedByDriver: true }, false],
  ] as const;
  for (const [name, policy, over, who, want] of groups)
    test(`fsGroup: ${name}`, () => {
      const volume = computeCsiVolume(aPod(), aCsiSpec(structuredClone<CsiSpecOver>(over as CsiSpecOver)));
      const owner = { fsGroup: 7, isAppliedByDriver: false, ...who };
      expect(shouldApplyFsGroup(volume, policy, owner)).toBe(want);
    });
  test('fsGroup: default, inline with fsType', () => {
    const volume = computeCsiVolume(aPod(), anInlineSpec({ fsType: 'ext4' }));
    const owner = { fsGroup: 7, isAppliedByDriver: false };
    expect(shouldApplyFsGroup(volume, byDefault, owner)).toBe(true);
  });

  test('pod info is added to a copy of the attributes', () => {
    const attributes = { a: 'b' };
    const pod = aPod({ serviceAccountName: 'sa' });
    const volume = { attributes, isEphemeral: true };
    expect(computeVolumeContext(volume, pod, { spec: { podInfoOnMount: true } })).toEqual({
      a: 'b',
      'csi.storage.k8s.io/pod.name': 'p',
      'csi.storage.k8s.io/pod.namespace': 'default',
      'csi.storage.k8s.io/pod.uid': 'uid-p',
      'csi.storage.k8s.io/serviceAccount.name': 'sa',
      'csi.storage.k8s.io/ephemeral': 'true',
    });
    expect(computeVolumeContext(volume, pod, { spec: {} })).toEqual({ a: 'b' });
    expect(attributes).toEqual({ a: 'b' });
  });
});

describe('attachment', () => {
  const spec = { attacher: 'd', nodeName: 'n', source: {} };
  const refreshing: CSIDriver = { spec: { nodeAllocatableUpdatePeriodSeconds: 60 } };
  const full = { attached: false, attachError: { message: 'full', errorCode: 8 } };
  const cases = [
    ['attached', {}, { attached: true }, refreshing, undefined],
    ['no status', {}, undefined, refreshing, ['volume h is not attached for volume attachment n', false]],
    [
      'not attached',
      {},
      { attached: false },
      refreshing,
      ['volume h is not attached for volume attachment n', false],
    ],
    [
      'being deleted, though attached',
      { deletionTimestamp: 'now' },
      { attached: true },
      refreshing,
      ['volume attachment is being deleted', false],
    ],
    ['failed', {}, { attached: false, attachError: { message: 'no' } }, refreshing, ['no', false]],
    ['failed at the limit', {}, full, refreshing, ['full', true]],
    ['failed at the limit, which no one corrects', {}, full, { spec: {} }, ['full', false]],
    ['failed at the limit, no CSIDriver', {}, full, undefined, ['full', false]],
  ] as const;
  for (const [name, metadata, status, driver, want] of cases)
    test(name, () => {
      const object = { metadata, spec, ...(status === undefined ? {} : { status }) };
      const failure = computeAttachFailure(object, { handle: 'h', name: 'n' }, driver);
      expect(failure === undefined ? undefined : [failure.message, failure.isLimit]).toEqual(want);
    });
});

describe('SELinux label', () => {
  const mounting = (name: string, seLinuxOptions?: SELinuxOptions) =>
    aContainer({
      name,
      volumeMounts: [{ name: 'v', mountPath: '/v' }],
      ...(seLinuxOptions === undefined ? {} : { securityContext: { seLinuxOptions } }),
    });
  const on = { isEnabled: true, isSupportedByDriver: true, everyAccessMode: true };
  const one = 's0:c1,c2';
  const labelled = `system_u:object_r:container_file_t:${one}`;
  const ofPod = { securityContext: { seLinuxOptions: { level: one } } };
  const other = { securityContext: { seLinuxOptions: { level: 's0:c9' } } };
  const cases = [
    ["the pod's level", { ...ofPod, containers: [mounting('a'), mounting('b')] }, on, {}, labelled],
    ["the container's instead", { ...other, containers: [mounting('a', { level: one })] }, on, {}, labelled],
    [
      'user and level, but not type and role of the process',
      { containers: [mounting('a', { user: 'u', role: 'r', type: 't', level: 's0' })] },
      on,
      {},
      'u:object_r:container_file_t:s0',
    ],
    ['no options', { containers: [mounting('a')] }, on, {}, undefined],
    ['no level', { containers: [mounting('a', { type: 't' })] }, on, {}, undefined],
    ['the volume is not mounted', { ...ofPod, containers: [aContainer()] }, on, {}, undefined],
    [
      'two labels',
      { ...ofPod, containers: [mounting('a'), mounting('b', { level: 's0:c9' })] },
      on,
      {},
      `multiple SELinux labels found: ${labelled},system_u:object_r:container_file_t:s0:c9`,
    ],
    [
      'two labels, Recursive',
      {
        securityContext: { seLinuxOptions: { level: one }, seLinuxChangePolicy: 'Recursive' },
        containers: [mounting('a'), mounting('b', { level: 's0:c9' })],
      },
      on,
      {},
      undefined,
    ],
    ['SELinux is off', { ...ofPod, containers: [mounting('a')] }, { ...on, isEnabled: false }, {}, undefined],
    [
      'not supported',
      { ...ofPod, containers: [mounting('a')] },
      { ...on, isSupportedByDriver: false },
      {},
      undefined,
    ],
    [
      'RWO without the gate',
      { ...ofPod, containers: [mounting('a')] },
      { ...on, everyAccessMode: false },
      {},
      undefined,
    ],
    [
      'RWOP without the gate',
      { ...ofPod, containers: [mounting('a')] },
      { ...on, everyAccessMode: false },
      { accessModes: ['ReadWriteOncePod'] },
      labelled,
    ],
    [
      'a level that would end the mount option',
      { containers: [mounting('a', { level: 's0",suid,x="' })] },
      on,
      {},
      'failed to construct SELinux label from context: it contains characters that no label has',
    ],
    [
      'a user with a separator',
      { containers: [mounting('a', { user: 'a:b', level: 's0' })] },
      on,
      {},
      'failed to construct SELinux label from context: it contains characters that no label has',
    ],
  ] as const;
  for (const [name, pod, support, pv, want] of cases)
    test(name, () => {
      const spec = aCsiSpec({
        pv: structuredClone<NonNullable<CsiSpecOver['pv']>>(pv as NonNullable<CsiSpecOver['pv']>),
      });
      expect(textOf(() => computeSeLinuxLabel(aPod(structuredClone(pod) as object), spec, support))).toBe(
        want,
      );
    });
  test('an inline volume is never mounted with a label', () => {
    const pod = aPod({ ...structuredClone(ofPod), containers: [mounting('a')] });
    expect(computeSeLinuxLabel(pod, anInlineSpec(), on)).toBeUndefined();
  });
  test('the option is quoted, since levels contain commas', () =>
    expect(contextOption(labelled)).toBe('context="system_u:object_r:container_file_t:s0:c1,c2"'));
});

describe('usage', () => {
  const most = Number.MAX_SAFE_INTEGER;
  const cases = [
    [
      'both units',
      [
        [1, 10n, 4n, 6n],
        [2, 5n, 2n, 3n],
      ],
      [4, 10, 6, 2, 5, 3],
    ],
    ['bytes only', [[1, 10n, 4n, 6n]], [4, 10, 6, 0, 0, 0]],
    ['negative and absurd numbers', [[1, -1n, 2n ** 63n - 1n, -5n]], [most, 0, 0, 0, 0, 0]],
    ['an unknown unit', [[0, 1n, 1n, 1n]], [0, 0, 0, 0, 0, 0]],
    [
      'the last one counts',
      [
        [1, 1n, 1n, 1n],
        [1, 2n, 2n, 2n],
      ],
      [2, 2, 2, 0, 0, 0],
    ],
  ] as const;
  for (const [name, usages, want] of cases)
    test(name, () => {
      const usage = usages.map(([unit, total, used, available]) => ({ unit, total, used, available }));
      const stats = computeStats({ usage });
      const { availableBytes, capacityBytes, inodes, inodesFree, inodesUsed, usedBytes } = stats;
      expect([usedBytes, capacityBytes, availableBytes, inodesUsed, inodes, inodesFree]).toEqual(want);
    });
  test('none', () =>
    expect(textOf(() => computeStats({ usage: [] }))).toBe(
      'failed to get usage from response. usage is nil',
    ));
});

describe('classes of failures', () => {
  const uncertain: readonly RpcFailureCode[] = [
    'CANCELLED',
    'DEADLINE_EXCEEDED',
    'UNAVAILABLE',
    'RESOURCE_EXHAUSTED',
    'ABORTED',
  ];
  const infeasible: readonly RpcFailureCode[] = ['INVALID_ARGUMENT', 'OUT_OF_RANGE', 'NOT_FOUND'];
  for (const code of rpcFailureCodes) {
    const outcome = uncertain.includes(code) ? 'uncertain' : 'final';
    test(`${code} is ${outcome}, also when wrapped`, () => {
      const err = csiError(code, 'x');
      expect(outcomeOf(err)).toBe(outcome);
      expect(
        outcomeOf(new KubeletError('internal', 'X', 'outer', { cause: new Error('y', { cause: err }) })),
      ).toBe(outcome);
    });
    const expansion = infeasible.includes(code)
      ? 'infeasible'
      : code === 'FAILED_PRECONDITION'
        ? 'precondition'
        : outcome;
    test(`an expansion with ${code} is ${expansion}`, () => {
      expect(computeExpandFailure(csiError(code, 'x'))).toBe(expansion);
      expect(computeExpandFailure(failedAt(undefined, csiError(code, 'x'), 'outer: '))).toBe(expansion);
    });
  }
  test('an error without a class is uncertain: the call was sent', () => {
    expect(outcomeOf(new Error('aborted'))).toBe('uncertain');
    const loop = new Error('loop');
    loop.cause = loop;
    expect(outcomeOf(loop)).toBe('uncertain');
  });
  test('a step and the words before keep message, kind and class', () => {
    const err = failedAt('MountDevice', csiError('INTERNAL', 'x'), 'before: ');
    expect(err.message).toBe('before: rpc error: code = Internal desc = x');
    expect(err.details).toEqual({ csiOutcome: 'final', step: 'MountDevice' });
  });
});

describe('volumes', () => {
  const cases = [
    ['a driver name that is a path', { driver: '../x' }, 'the CSI driver name "../x" is not valid'],
    ['no handle', { volumeHandle: '' }, 'the CSI volume handle "" is not valid'],
    [
      'a handle that is too long',
      { volumeHandle: 'x'.repeat(16_385) },
      `the CSI volume handle "${'x'.repeat(256)}" is not valid`,
    ],
  ] as const;
  for (const [name, csi, want] of cases)
    test(`rejects ${name}`, () =>
      expect(textOf(() => computeCsiVolume(aPod(), aCsiSpec({ csi })))).toBe(want));
});
