import { describe, expect, test } from 'vitest';
import { parseMountTable } from '../mount/mount-table.ts';
import { findHierarchies, hierarchyRoots } from './hierarchies.ts';

const sourcesOf = (mountinfo: string, controllers = '') => ({
  mounts: async () => parseMountTable(mountinfo),
  readText: async () => controllers,
});

const v1 = [
  '30 20 0:25 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755',
  '31 30 0:26 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct',
  '32 30 0:27 / /sys/fs/cgroup/memory rw shared:10 - cgroup cgroup rw,memory',
  '33 30 0:28 / /sys/fs/cgroup/systemd rw shared:11 - cgroup cgroup rw,xattr,name=systemd',
  '34 30 0:29 / /sys/fs/cgroup/unified rw shared:12 - cgroup2 cgroup2 rw,nsdelegate',
  '35 20 0:27 / /var/lib/another/cgroup/memory rw - cgroup cgroup rw,memory',
].join('\n');

describe('findHierarchies', () => {
  test('finds v1 hierarchies by controller at their shortest path, also with v2 beside them', async () =>
    expect(await findHierarchies(sourcesOf(v1))).toEqual({
      version: 1,
      mountPoints: new Map([
        ['cpu', '/sys/fs/cgroup/cpu,cpuacct'],
        ['cpuacct', '/sys/fs/cgroup/cpu,cpuacct'],
        ['memory', '/sys/fs/cgroup/memory'],
        ['systemd', '/sys/fs/cgroup/systemd'],
      ]),
      unified: '/sys/fs/cgroup/unified',
    }));

  test('lists each root once', async () =>
    expect(hierarchyRoots(await findHierarchies(sourcesOf(v1)))).toEqual([
      '/sys/fs/cgroup/cpu,cpuacct',
      '/sys/fs/cgroup/memory',
      '/sys/fs/cgroup/systemd',
      '/sys/fs/cgroup/unified',
    ]));

  test('finds v2 with the controllers that the kubelet uses and the kernel has', async () => {
    const table = '30 20 0:25 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate';
    const found = await findHierarchies(sourcesOf(table, 'cpuset cpu io memory pids rdma\n'));
    expect(found).toEqual({
      version: 2,
      root: '/sys/fs/cgroup',
      controllers: new Set(['cpuset', 'cpu', 'memory', 'pids']),
    });
  });

  test('fails if no hierarchy is mounted', async () =>
    await expect(findHierarchies(sourcesOf(''))).rejects.toThrow('no cgroup hierarchy is mounted'));
});
