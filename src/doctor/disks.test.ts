import { describe, expect, test } from 'vitest';
import { judgeDisk, judgePropagation } from './disks.ts';
import type { DiskFacts } from './facts.ts';

const gib = 1024n ** 3n;
const disk: DiskFacts = {
  path: '/var/lib/kubelet',
  exists: true,
  mountPoint: '/',
  availableBytes: 50n * gib,
  totalBytes: 100n * gib,
  inodesFree: 900n,
  inodes: 1000n,
  isReadOnly: false,
  isShared: true,
};
const evictionHard = { 'nodefs.available': '10%', 'nodefs.inodesFree': '5%', 'imagefs.available': '60Gi' };

describe('judgeDisk', () => {
  const cases = [
    ['enough', {}, 'nodefs', 'ok', '/var/lib/kubelet on /: 50 GiB free (50 %, 90 % of inodes)'],
    ['just above the threshold', { availableBytes: 10n * gib + 1024n }, 'nodefs', 'ok', '10 GiB free'],
    [
      'below it',
      { availableBytes: 9n * gib },
      'nodefs',
      'fail',
      '9 GiB of 100 GiB free, below nodefs.available 10%',
    ],
    [
      'few inodes',
      { inodesFree: 49n },
      'nodefs',
      'fail',
      '49 of 1000 inodes free, below nodefs.inodesFree 5%',
    ],
    ['no fixed number of inodes', { inodes: 0n, inodesFree: 0n }, 'nodefs', 'ok', '50 GiB free (50 %)'],
    ['an amount as threshold', {}, 'imagefs', 'fail', 'below imagefs.available 60Gi'],
    ['read-only', { isReadOnly: true }, 'nodefs', 'fail', 'read-only'],
  ] as const;
  for (const [name, over, prefix, status, words] of cases)
    test(`${name} → ${status}`, () => {
      const finding = judgeDisk({ isKnown: true, value: { ...disk, ...over } }, '/x', prefix, {
        evictionHard,
      });
      expect(finding.status).toBe(status);
      expect(finding.finding).toContain(words);
    });

  test('thresholds that are unset, disabled or malformed do not count', () => {
    for (const text of [undefined, '0%', '100%', 'much', 'x%']) {
      const rules = { evictionHard: text === undefined ? {} : { 'nodefs.available': text } };
      expect(
        judgeDisk({ isKnown: true, value: { ...disk, availableBytes: 0n } }, '/x', 'nodefs', rules).status,
      ).toBe('ok');
    }
  });

  test('a file system that does not answer → fail', () =>
    expect(
      judgeDisk({ isKnown: false, why: 'the check did not finish within 5000 ms' }, '/x', 'nodefs', {
        evictionHard,
      }),
    ).toMatchObject({
      status: 'fail',
      finding: '/x: the check did not finish within 5000 ms',
      fix: expect.stringContaining('stat /x; if it hangs') as string,
    }));

  test('a runtime that names no directory', () =>
    expect(judgeDisk({ isKnown: true, value: undefined }, '/x', 'imagefs', { evictionHard }).status).toBe(
      'ok',
    ));
});

describe('judgePropagation', () => {
  const cases = [
    [true, false, 'ok'],
    [false, true, 'ok'],
    [false, false, 'warn'],
  ] as const;
  for (const [isShared, isPrivileged, status] of cases)
    test(`shared: ${isShared}, may change it: ${isPrivileged} → ${status}`, () =>
      expect(judgePropagation({ ...disk, isShared }, isPrivileged, '/var/lib/kubelet').status).toBe(status));
});
