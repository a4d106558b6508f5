// Resources of the node on the real kernel: cgroups that are created, rejected, busy and removed; orphans of an earlier
// kubelet; and the figures that kubectl shows.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Quantity } from '../src/api/quantity/quantity.ts';
import { realClock } from '../src/base/clock.ts';
import { cgroupfsSpelling } from '../src/edge/cgroup/cgroup-spelling.ts';
import { CgroupFs } from '../src/edge/cgroup/cgroups.ts';
import { findHierarchies, type Hierarchies } from '../src/edge/cgroup/hierarchies.ts';
import { systemProcesses } from '../src/edge/cgroup/system-processes.ts';
import { killProcess } from '../src/edge/machine/kill-process.ts';
import { PodCgroups } from '../src/resources/cgroups/pod-cgroups.ts';
import { aContainer, aPod } from '../test/builders/builders.ts';
import { cgroupFolders, removeCgroups } from './rig/cgroups.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { type Rig, startRig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import { type Cluster, kubectlUnavailableReason, startCluster } from './support/cluster.ts';

const common = { pageSizes: ['2MB'], clock: realClock, killProcess };

describeOnRig('cgroups of the kernel', () => {
  const top = `kubelet-test-${process.pid}`;
  let hierarchies: Hierarchies;
  let cgroups: CgroupFs;
  const children: ChildProcess[] = [];

  beforeAll(async () => {
    hierarchies = await findHierarchies();
    cgroups = new CgroupFs({ hierarchies, spelling: cgroupfsSpelling, ...common });
  });
  afterEach(async () => {
    for (const child of children.splice(0)) if (child.exitCode === null) child.kill('SIGKILL');
    await waitFor(() => {
      removeCgroups(`/${top}`);
      return cgroupFolders(`/${top}`).length === 0;
    }, 'the cgroups of the test to be removed');
  });

  function sleeper(): { readonly pid: number; readonly ended: Promise<unknown> } {
    const child = spawn('sleep', ['600'], { stdio: 'ignore' });
    children.push(child);
    return { pid: child.pid ?? 0, ended: once(child, 'exit') };
  }

  test('200 pod cgroups are created ten at a time with their limits, and all removed', async () => {
    const pods = new PodCgroups({
      cgroups,
      root: [top, 'kubepods'],
      policy: {
        enforceCpuLimits: true,
        cpuPeriodUs: 100_000n,
        pidsLimit: 50n,
        reservesMemory: false,
        podLevelResources: true,
      },
    });
    const amounts = { cpu: '250m', memory: '64Mi' };
    const resources = [{}, { requests: amounts }, { requests: amounts, limits: amounts }];
    const all = Array.from({ length: 200 }, (_, index) =>
      aPod({ uid: `u${index}`, containers: [aContainer({ resources: resources[index % 3] ?? {} })] }),
    );
    for (let at = 0; at < all.length; at += 10)
      await Promise.all(all.slice(at, at + 10).map((pod) => pods.ensure(pod)));
    expect((await pods.podsWithCgroups()).size).toBe(200);
    // Every third pod is Guaranteed.
    expect(await cgroups.cpu(pods.nameOf(all[2] ?? aPod()))).toMatchObject({ cpuQuotaUs: 25_000n });
    for (let at = 0; at < all.length; at += 10)
      await Promise.all(all.slice(at, at + 10).map((pod) => pods.removePod(pod.metadata?.uid ?? '')));
    expect((await pods.podsWithCgroups()).size).toBe(0);
    expect(cgroupFolders(`/${top}/kubepods`).filter((folder) => folder.includes('/pod'))).toEqual([]);
  });

  test('a cgroup with a process is removed only after the process is killed', async () => {
    const name = [top, 'pod1'];
    const { ended, pid } = sleeper();
    await cgroups.create([...name, 'container'], {});
    await systemProcesses({ hierarchies, ...common }).move(pid, `/${top}/pod1/container`);
    expect(await cgroups.processes(name)).toEqual([pid]);
    expect(await cgroups.removeIdle(name)).toBe(false);
    await expect(cgroups.remove(name)).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining('/pod1/container'),
    });
    await cgroups.kill(name);
    expect(await ended).toEqual([null, 'SIGKILL']);
    await cgroups.remove(name);
    expect(cgroupFolders(`/${top}/pod1`)).toEqual([]);
  });

  test('a value that the kernel rejects is reported with its file', async () => {
    await cgroups.create([top], {});
    const file = hierarchies.version === 2 ? 'cpu.max' : 'cpu.cfs_quota_us';
    await expect(cgroups.update([top], { cpuQuotaUs: 5n })).rejects.toMatchObject({
      kind: 'invalid',
      reason: 'EINVAL',
      message: expect.stringMatching(new RegExp(`cannot write "5.*" to .*/${top}/${file}`)),
    });
  });

  const unified = existsSync('/sys/fs/cgroup/unified') ? '/sys/fs/cgroup/unified' : '/sys/fs/cgroup';
  const list = join(unified, 'cgroup.controllers');
  const given = existsSync(list) ? readFileSync(list, 'utf8').trim() : '';
  describe.skipIf(given === '')(
    `version 2${given === '' ? ` (skipped: not mounted, or without a controller)` : ''}`,
    () => {
      const controllers = new Set(given.split(' '));
      const v2 = new CgroupFs({
        hierarchies: { version: 2, root: unified, controllers },
        spelling: cgroupfsSpelling,
        ...common,
      });

      test('controllers are enabled down to the pod’s cgroup, and its limits are applied', async () => {
        const name = [top, 'kubepods', 'pod1'];
        expect(await v2.missing(name)).toContain('does not exist');
        await v2.create(name, controllers.has('hugetlb') ? { hugePageLimits: { '2MB': 4_194_304n } } : {});
        expect(await v2.missing(name)).toBeUndefined();
        const read = (path: string): string => readFileSync(join(unified, path), 'utf8').trim();
        expect(read(`${top}/kubepods/cgroup.subtree_control`).split(' ').toSorted()).toEqual(
          [...controllers].toSorted(),
        );
        if (controllers.has('hugetlb')) expect(read(`${name.join('/')}/hugetlb.2MB.max`)).toBe('4194304');
        await v2.remove([top]);
        expect(existsSync(join(unified, top))).toBe(false);
      });

      test('all processes of a cgroup are killed at once', async () => {
        await v2.create([top, 'pod1', 'container'], {});
        const sleepers = [sleeper(), sleeper()];
        for (const { pid } of sleepers)
          writeFileSync(join(unified, top, 'pod1/container/cgroup.procs'), `${pid}`);
        expect(await v2.removeIdle([top, 'pod1'])).toBe(false);
        await v2.kill([top, 'pod1']);
        for (const { ended } of sleepers) expect(await ended).toEqual([null, 'SIGKILL']);
        await v2.remove([top]);
      });
    },
  );
});

describeOnRig('a node', () => {
  let rig: Rig;
  let cluster: Cluster;
  let kubelet: Kubelet;
  let orphan: ChildProcess;
  let orphanEnded: Promise<unknown>;

  beforeAll(async () => {
    rig = await startRig();
    cluster = await startCluster(rig, 'node1');
    // The leftover of an earlier kubelet, with a process in it.
    const hierarchies = await findHierarchies();
    const processes = systemProcesses({ hierarchies, ...common });
    const path = `/${rig.workspace.name}/kubepods/besteffort/podaaaa-bbbb`;
    orphan = spawn('sleep', ['600'], { stdio: 'ignore' });
    orphanEnded = once(orphan, 'exit');
    await processes.create(path);
    await processes.move(orphan.pid ?? 0, path);
    kubelet = await rig.kubelet({
      nodeName: 'node1',
      flags: [`--kubeconfig=${cluster.kubeconfig}`, '--auto-reserve'],
      config: {
        maxPods: 500,
        podsPerCore: 7,
        kubeReserved: { cpu: '150m', memory: '300Mi' },
        systemReserved: { cpu: '50m' },
        evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '10%' },
        kubeletCgroups: `/${rig.workspace.name}/kubelet`,
      },
    });
    await cluster.untilNodeReady();
  });
  afterAll(async () => {
    if (orphan.exitCode === null) orphan.kill('SIGKILL');
    await rig.stop();
    await cluster.stop();
  });

  test('reports capacity and allocatable resources', () => {
    const memory = readFileSync('/proc/meminfo', 'utf8');
    const kibibytes = Number(/^MemTotal:\s+(\d+) kB$/m.exec(memory)?.[1]);
    const hugeKibibytes = Number(/^Hugetlb:\s+(\d+) kB$/m.exec(memory)?.[1] ?? 0);
    const cpus = readFileSync('/proc/cpuinfo', 'utf8').match(/^processor/gm)?.length ?? 0;
    const { allocatable = {}, capacity = {} } = cluster.node()?.status ?? {};
    expect(capacity).toMatchObject({ cpu: `${cpus}`, memory: `${kibibytes}Ki`, pods: `${cpus * 7}` });
    expect(allocatable).toMatchObject({
      cpu: `${cpus * 1000 - 200}m`,
      memory: `${kibibytes - hugeKibibytes - 400 * 1024}Ki`,
      pods: `${cpus * 7}`,
    });
    // Decimal, as upstream since v1.37.
    const bytes = (text = ''): number => Number(Quantity.parse(text).value());
    expect(capacity['ephemeral-storage']).not.toContain('i');
    const storage = bytes(capacity['ephemeral-storage']);
    const tenth = Math.trunc(storage * Math.fround(0.1));
    // By --auto-reserve, in whole MiB.
    const reserved = Math.min(10 * 1024 ** 3, Math.trunc(storage / 10 / 1024 ** 2) * 1024 ** 2);
    expect(bytes(allocatable['ephemeral-storage'])).toBe(storage - reserved - tenth);
  });

  test('reserves automatically what the configuration does not, and logs it', () => {
    const maxProcesses = Number(readFileSync('/proc/sys/kernel/pid_max', 'utf8'));
    const threads = Number(readFileSync('/proc/sys/kernel/threads-max', 'utf8'));
    const pid = Math.min(1_000, Math.trunc(Math.min(maxProcesses, threads) / 10));
    expect(kubelet.log.matching(/machine's size/)).toEqual([
      expect.stringMatching(new RegExp(`machine's size" ephemeral-storage="\\d+Mi" pid="${pid}"`)),
    ]);
  });

  test.skipIf(kubectlUnavailableReason !== undefined)(
    `kubectl describe shows them${kubectlUnavailableReason === undefined ? '' : ` (skipped: ${kubectlUnavailableReason})`}`,
    async () => {
      const { allocatable = {}, capacity = {} } = cluster.node()?.status ?? {};
      const text = await cluster.kubectl('describe', 'node', 'node1');
      const section = (name: string): Record<string, string> => {
        const lines = new RegExp(`^${name}:\\n((?:  .*\\n)+)`, 'm').exec(text)?.[1] ?? '';
        return Object.fromEntries(
          lines
            .trim()
            .split('\n')
            .map((line) => line.trim().split(/:\s+/) as [string, string]),
        );
      };
      expect([section('Capacity'), section('Allocatable')]).toEqual([capacity, allocatable]);
    },
  );

  test('removes an orphaned pod cgroup with its processes', async () => {
    expect(await orphanEnded).toEqual([null, 'SIGKILL']);
    await waitFor(
      () => cgroupFolders(`/${rig.workspace.name}/kubepods/besteffort/podaaaa-bbbb`).length === 0,
      'its cgroups to be removed',
    );
  });

  test('the kubelet runs in its configured cgroup', async () => {
    const own = `/${rig.workspace.name}/kubelet`;
    const places = (): readonly string[] =>
      readFileSync(`/proc/${kubelet.pid ?? 0}/cgroup`, 'utf8').split('\n');
    await waitFor(() => places().some((line) => line.endsWith(`:${own}`)), 'the kubelet to be in its cgroup');
  });
});
