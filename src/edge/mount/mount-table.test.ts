import { describe, expect, test } from 'vitest';
import { parseMountTable } from './mount-table.ts';

const cases = [
  [
    'a private mount',
    '36 35 98:0 / /mnt rw,noatime - ext3 /dev/root rw,errors=continue',
    {
      id: 36,
      device: '98:0',
      root: '/',
      mountPoint: '/mnt',
      fsType: 'ext3',
      isShared: false,
      superOptions: ['rw', 'errors=continue'],
    },
  ],
  [
    'a shared mount',
    '36 35 98:0 / /mnt rw shared:7 - ext3 /dev/root rw',
    {
      id: 36,
      device: '98:0',
      root: '/',
      mountPoint: '/mnt',
      fsType: 'ext3',
      isShared: true,
      superOptions: ['rw'],
    },
  ],
  [
    'a shared and slave mount',
    '36 35 98:0 / /mnt rw master:1 shared:7 - ext3 /dev/root rw',
    {
      id: 36,
      device: '98:0',
      root: '/',
      mountPoint: '/mnt',
      fsType: 'ext3',
      isShared: true,
      superOptions: ['rw'],
    },
  ],
  [
    'a slave mount',
    '36 35 98:0 / /mnt rw master:1 propagate_from:2 - ext3 /dev/root rw',
    {
      id: 36,
      device: '98:0',
      root: '/',
      mountPoint: '/mnt',
      fsType: 'ext3',
      isShared: false,
      superOptions: ['rw'],
    },
  ],
  [
    'a path with space, tab, newline and backslash',
    String.raw`1 2 0:1 / /a\040b\011c\012d\134e rw - tmpfs none rw`,
    {
      id: 1,
      device: '0:1',
      root: '/',
      mountPoint: '/a b\tc\nd\\e',
      fsType: 'tmpfs',
      isShared: false,
      superOptions: ['rw'],
    },
  ],
  [
    'a cgroup v1 controller',
    '32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct',
    {
      id: 32,
      device: '0:29',
      root: '/',
      mountPoint: '/sys/fs/cgroup/cpu',
      fsType: 'cgroup',
      isShared: false,
      superOptions: ['rw', 'cpu', 'cpuacct'],
    },
  ],
] as const;

describe('parseMountTable', () => {
  for (const [name, line, want] of cases) {
    test(`parses ${name}`, () => {
      expect(parseMountTable(`${line}\n`)).toEqual([want]);
    });
  }

  test('keeps the order and skips lines that are not mounts', () => {
    const text = '1 0 0:1 / / rw - ext4 a rw\n\nnonsense\n2 1 0:2 / /b rw - ext4 b rw\n';
    expect(parseMountTable(text).map(({ mountPoint }) => mountPoint)).toEqual(['/', '/b']);
  });
});
