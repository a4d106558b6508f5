import { describe, expect, test } from 'vitest';
import { aContainer, aPod, type PodOver } from '../../../test/builders/builders.ts';
import { aContainerLoad, amount, aPodLoad, aVolumeUsage } from '../../../test/builders/eviction.ts';
import type { Container, Volume } from '../../api/k8s/types.ts';
import type { ContainerLoad, PodLoad } from '../../api/ports/node-usage.ts';
import type { DiskLayout } from './layout.ts';
import { type ExceededLimit, exceededStorageLimit, hasStorageLimit } from './storage-limits.ts';

interface Situation {
  readonly layout?: DiskLayout;
}

function exceeded(
  over: PodOver,
  load: Partial<PodLoad>,
  { layout = 'one' }: Situation = {},
): ExceededLimit | undefined {
  const pod = aPod(over);
  return exceededStorageLimit(pod, aPodLoad(pod, load), { layout });
}

const emptyDir = (sizeLimit: string | undefined, medium = ''): Volume => ({
  name: 'scratch',
  emptyDir: { medium, ...(sizeLimit === undefined ? {} : { sizeLimit }) },
});
const limited = (limit: string, over: Partial<Container> = {}): Container =>
  aContainer({ resources: { limits: { 'ephemeral-storage': limit } }, ...over });
const wrote = (layer: string, logs: string, over: Partial<ContainerLoad> = {}): ContainerLoad =>
  aContainerLoad({ writtenBytes: amount(layer), logBytes: amount(logs), ...over });

describe('emptyDir', () => {
  const used = (text: string): Partial<PodLoad> => ({
    volumes: [aVolumeUsage({ name: 'scratch', usedBytes: amount(text), capacityBytes: amount('3Gi') })],
  });
  test.each([
    ['above the limit', emptyDir('1Gi'), used('2Gi'), true],
    ['exactly the limit', emptyDir('1Gi'), used('1Gi'), false],
    ['one byte more', emptyDir('1Gi'), used('1073741825'), true],
    ['within the limit', emptyDir('1Gi'), used('500Mi'), false],
    ['memory', emptyDir('1Gi', 'Memory'), used('2Gi'), true],
    ['memory within the limit', emptyDir('1Gi', 'Memory'), used('500Mi'), false],
    ['no limit', emptyDir(undefined), used('2Gi'), false],
    ['a limit of 0', emptyDir('0'), used('2Gi'), false],
    ['not measured', emptyDir('1Gi'), {}, false],
    ['another volume', emptyDir('1Gi'), { volumes: [aVolumeUsage({ usedBytes: 2 ** 40 })] }, false],
  ])('%s', (_name, volume, load, want) => {
    const limit = exceeded({ volumes: [volume] }, load);
    expect(limit?.message).toBe(
      want ? 'Usage of EmptyDir volume "scratch" exceeds the limit "1Gi". ' : undefined,
    );
    if (want) expect(limit).toMatchObject({ signal: 'emptydirfs.limit', name: 'scratch' });
  });
});

describe('pod', () => {
  const two = [limited('1Gi', { name: 'a' }), limited('2Gi', { name: 'b' })];
  test.each([
    ['the sum of its containers', { containers: two }, '3221225473', '3Gi'],
    ['exactly the sum', { containers: two }, '3Gi', undefined],
    [
      'one limit limits all containers',
      { containers: [limited('1Gi', { name: 'a' }), aContainer({ name: 'b' })] },
      '2Gi',
      '1Gi',
    ],
    [
      'a sidecar adds its limit',
      { containers: two, initContainers: [limited('1Gi', { name: 's', restartPolicy: 'Always' })] },
      '3.5Gi',
      undefined,
    ],
    [
      'a larger init container',
      { containers: two, initContainers: [limited('5Gi', { name: 'i' })] },
      '4Gi',
      undefined,
    ],
    ['overhead is added', { containers: two, overhead: { 'ephemeral-storage': '1Gi' } }, '4.5Gi', '4Gi'],
    [
      'pod-level resources do not hide it',
      { containers: two, resources: { limits: { memory: '1Gi' } } },
      '4Gi',
      '3Gi',
    ],
    ['no limit', { containers: [aContainer()] }, '1Ti', undefined],
  ])('%s', (_name, over, used, limit) => {
    const want = `Pod ephemeral local storage usage exceeds the total limit of containers ${limit}. `;
    expect(exceeded(over, { ephemeralBytes: amount(used) })?.message).toBe(
      limit === undefined ? undefined : want,
    );
  });

  test('not measured', () => {
    expect(exceeded({ containers: two }, {})).toBeUndefined();
  });
});

describe('container', () => {
  const want = 'Container c exceeded its local ephemeral storage limit "1Gi". ';
  test.each([
    ['its writable layer', 'one', wrote('2Gi', '0'), want],
    ['its logs', 'one', wrote('0', '2Gi'), want],
    ['both together', 'one', wrote('600Mi', '600Mi'), want],
    ['exactly the limit', 'one', wrote('512Mi', '512Mi'), undefined],
    ['an unknown writable layer', 'one', aContainerLoad({ logBytes: amount('900Mi') }), undefined],
    ['imagefs: its writable layer does not count', 'imagefs', wrote('2Gi', '0'), undefined],
    ['imagefs: its logs', 'imagefs', wrote('0', '2Gi'), want],
    ['split: its writable layer lies on nodefs', 'split', wrote('2Gi', '0'), want],
    ['another container', 'one', wrote('2Gi', '2Gi', { name: 'other' }), undefined],
  ] as const)('%s', (_name, layout, load, message) => {
    const limit = exceeded({ containers: [limited('1Gi')] }, { containers: [load] }, { layout });
    expect(limit?.message).toBe(message);
    if (message !== undefined) {
      expect(limit).toMatchObject({ signal: 'ephemeralcontainerfs.limit', name: 'c' });
      expect(limit?.limit.toString()).toBe('1Gi');
    }
  });

  const init = (over: Partial<Container>): PodOver => ({
    initContainers: [limited('10Mi', { name: 'i', ...over })],
    containers: [aContainer({ name: 'main' })],
  });
  test.each([
    ['a sidecar', init({ restartPolicy: 'Always' })],
    ['an init container that runs', init({})],
  ])('%s', (_name, over) => {
    const load = { containers: [wrote('50Mi', '50Mi', { name: 'i' }), wrote('0', '0', { name: 'main' })] };
    expect(exceeded(over, load)).toMatchObject({
      signal: 'ephemeralcontainerfs.limit',
      message: 'Container i exceeded its local ephemeral storage limit "10Mi". ',
      usedBytes: amount('100Mi'),
    });
  });

  test('a limit of 0 is none', () => {
    expect(exceeded({ containers: [limited('0')] }, { containers: [wrote('1Gi', '0')] })).toBeUndefined();
  });
});

describe('order and exceptions', () => {
  const over: PodOver = { volumes: [emptyDir('1Gi')], containers: [limited('1Gi')] };
  const volumes = [aVolumeUsage({ name: 'scratch', usedBytes: amount('2Gi') })];
  const containers = [wrote('2Gi', '0')];
  const ephemeralBytes = amount('4Gi');
  test.each([
    ['a volume first', { volumes, containers, ephemeralBytes }, 'emptydirfs.limit'],
    ['then the pod', { containers, ephemeralBytes }, 'ephemeralpodfs.limit'],
    ['then a container', { containers }, 'ephemeralcontainerfs.limit'],
    ['nothing', {}, undefined],
  ])('%s', (_name, load, signal) => {
    expect(exceeded(over, load)?.signal).toBe(signal);
  });

  test.each([
    ['a static pod', { annotations: { 'kubernetes.io/config.source': 'file' } }],
    ['a critical pod', { priority: 2_000_000_000 }],
  ])('never %s', (_name, critical) => {
    expect(exceeded({ ...over, ...critical }, { volumes, containers, ephemeralBytes })).toBeUndefined();
    expect(hasStorageLimit(aPod({ ...over, ...critical }))).toBe(false);
  });
});

test.each([
  ['nothing', {}, false],
  ['a volume', { volumes: [emptyDir('1Gi')] }, true],
  ['a volume without a limit', { volumes: [emptyDir(undefined)] }, false],
  ['a volume with a limit of 0', { volumes: [emptyDir('0')] }, false],
  ['a volume in memory', { volumes: [emptyDir('1Gi', 'Memory')] }, true],
  ['a container', { containers: [limited('1Gi')] }, true],
  ['an init container', { initContainers: [limited('1Gi', { name: 'i' })] }, true],
  ['a memory limit', { containers: [aContainer({ resources: { limits: { memory: '1Gi' } } })] }, false],
])('hasStorageLimit: %s', (_name, over, want) => {
  expect(hasStorageLimit(aPod(over))).toBe(want);
});

test('a limit that cannot be parsed counts as none', () => {
  const hostile: PodOver = { volumes: [emptyDir('1e5000')], containers: [limited('1e5000')] };
  const volumes = [aVolumeUsage({ name: 'scratch', usedBytes: 2 ** 50 })];
  const load = { volumes, containers: [wrote('1Ti', '1Ti')], ephemeralBytes: 2 ** 50 };
  expect(exceeded(hostile, load)).toBeUndefined();
  expect(hasStorageLimit(aPod(hostile))).toBe(false);
});
