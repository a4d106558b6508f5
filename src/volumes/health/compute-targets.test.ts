import { expect, test } from 'vitest';
import { asPodUid } from '../../api/pod/pod-ref.ts';
import type { VolumeSpec } from '../plugin.ts';
import { type AttemptedVolume, computeTargets } from './compute-targets.ts';

const layout = { podsDir: '/k/pods', pluginsDir: '/k/plugins' };
const staged = '/k/plugins/kubernetes.io/csi/disk';

function volume(
  over: { uid?: string; name?: string; driver?: string; handle?: string; pv?: string } & Partial<VolumeSpec>,
): AttemptedVolume {
  const { driver = 'disk', handle = 'h', name = 'data', pv = 'pv', uid = 'u', ...rest } = over;
  const spec: VolumeSpec = {
    name,
    directoryName: pv,
    source: {},
    readOnly: false,
    mountOptions: [],
    persistent: { metadata: { name: pv }, spec: { csi: { driver, volumeHandle: handle } } },
    isBlock: false,
    ...rest,
  };
  return { uid: asPodUid(uid), spec };
}

const published = (uid: string, pv = 'pv'): string => `/k/pods/${uid}/volumes/kubernetes.io~csi/${pv}/mount`;
const hashOfH = 'aaa9402664f1a41f40ebbc52c9993eb66aeb366602958fdfaa283b71e64db123';

test('a mounted volume, with the paths that the driver was given', () => {
  expect(computeTargets([volume({})], 'disk', layout)).toEqual([
    {
      uid: 'u',
      names: ['data'],
      volumeId: 'h',
      publishPath: published('u'),
      stagingPath: `${staged}/${hashOfH}/globalmount`,
    },
  ]);
});

test('a block volume', () => {
  const root = '/k/plugins/kubernetes.io/csi/volumeDevices';
  expect(computeTargets([volume({ isBlock: true })], 'disk', layout)).toMatchObject([
    { publishPath: `${root}/publish/pv/u`, stagingPath: `${root}/staging/pv` },
  ]);
});

test('the volume of two pods twice, the two names in one pod once', () => {
  const all = [volume({}), volume({ name: 'again' }), volume({ uid: 'w' })];
  expect(
    computeTargets(all, 'disk', layout).map(({ names, publishPath }) => [publishPath, ...names]),
  ).toEqual([
    [published('u'), 'data', 'again'],
    [published('w'), 'data'],
  ]);
});

const others: readonly (readonly [string, AttemptedVolume])[] = [
  ['of another driver', volume({ driver: 'other' })],
  ['defined in the pod', volume({ persistent: undefined, source: { csi: { driver: 'disk' } } })],
  ['of another plugin', volume({ persistent: undefined, source: { emptyDir: {} } })],
  ['without a handle', volume({ handle: '' })],
];
for (const [what, each] of others)
  test(`a volume ${what} is not probed`, () => {
    expect(computeTargets([each], 'disk', layout)).toEqual([]);
  });

test('a driver whose name is no directory has no volumes', () => {
  expect(computeTargets([volume({ driver: '../x' })], '../x', layout)).toEqual([]);
});
