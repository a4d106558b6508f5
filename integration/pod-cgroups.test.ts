// What a pod asked for is what the kernel enforces: the real files of real cgroups, for all three classes, for the classes
// themselves and for all pods together. On a real containerd, through the built command.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { findHierarchies, type Hierarchies } from '../src/edge/cgroup/hierarchies.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { type Rig, startRig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import { container, manifest } from './support/manifest.ts';
import { OwnPods } from './support/own-pods.ts';
import { containerIdOf, uidOf } from './support/pod-state.ts';

const mebi = 1024 * 1024;

describeOnRig('cgroups of pods', () => {
  let rig: Rig;
  let kubelet: Kubelet;
  let hierarchies: Hierarchies;
  const own = new OwnPods(() => kubelet);

  beforeAll(async () => {
    hierarchies = await findHierarchies();
    rig = await startRig();
    kubelet = await rig.kubelet({
      config: { podPidsLimit: 200, kubeReserved: { cpu: '200m', memory: '256Mi' }, evictionHard: {} },
    });
  });
  afterAll(() => rig.stop());
  afterEach(() => own.removeAll());

  /** A file of the cgroup at this path below the node's own root, in the hierarchy that has it. */
  function file(controller: string, path: string, name: string): string {
    const mount =
      hierarchies.version === 2
        ? hierarchies.root
        : (hierarchies.mountPoints.get(controller) ?? 'not mounted');
    return join(mount, rig.ground.name, 'kubepods', path, name);
  }

  const read = (controller: string, path: string, name: string): string =>
    readFileSync(file(controller, path, name), 'utf8').trim();

  /** What the kernel has of one cgroup, in the words of version 1. */
  function amounts(path: string): Record<string, string> {
    if (hierarchies.version === 2)
      throw new Error('this machine has cgroup v2: these files have other names there');
    return {
      shares: read('cpu', path, 'cpu.shares'),
      quota: read('cpu', path, 'cpu.cfs_quota_us'),
      memory: read('memory', path, 'memory.limit_in_bytes'),
      pids: read('pids', path, 'pids.max'),
    };
  }

  const unlimited = '9223372036854771712';
  const of = (cpu: string, memory: string): Record<string, string> => ({ cpu, memory });
  const cases = [
    ['best effort', 'besteffort/', {}, { shares: '2', quota: '-1', memory: unlimited, pids: '200' }],
    [
      'burstable',
      'burstable/',
      { requests: of('100m', '16Mi'), limits: of('500m', '64Mi') },
      { shares: '102', quota: '50000', memory: `${64 * mebi}`, pids: '200' },
    ],
    [
      'guaranteed',
      '',
      { requests: of('200m', '32Mi'), limits: of('200m', '32Mi') },
      { shares: '204', quota: '20000', memory: `${32 * mebi}`, pids: '200' },
    ],
  ] as const;
  for (const [name, place, resources, want] of cases) {
    test(`a ${name} pod`, async () => {
      const id = name.replace(' ', '-');
      const pod = await own.start(
        id,
        manifest(id, { containers: [container('main', undefined, { resources })] }),
      );
      const path = `${place}pod${uidOf(pod)}`;
      expect(amounts(path)).toEqual(want);
      // The container lies in its pod's cgroup, so that the pod's limits hold for it.
      expect(existsSync(file('cpu', `${path}/${containerIdOf(pod)}`, 'cgroup.procs'))).toBe(true);
      own.remove(id);
      // One hierarchy after the other loses it.
      for (const controller of ['cpu', 'memory', 'pids', 'cpuset', 'blkio']) {
        const procs = file(controller, path, 'cgroup.procs');
        await waitFor(() => !existsSync(procs), `the cgroup of the pod to go from ${controller}`);
      }
    });
  }

  test('the class of burstable pods follows what they ask for', async () => {
    const resources = { requests: { cpu: '300m' } };
    const containers = [container('main', undefined, { resources })];
    await own.start('one', manifest('one', { containers }));
    await own.start('two', manifest('two', { containers }));
    await waitFor(() => read('cpu', 'burstable', 'cpu.shares') === '614', 'the shares of two pods');
    own.remove('two');
    await waitFor(() => read('cpu', 'burstable', 'cpu.shares') === '307', 'the shares of one pod');
    expect(read('cpu', 'besteffort', 'cpu.shares')).toBe('2');
  });

  test('all pods together have what the node has, less what is reserved', () => {
    const kibibytes = Number(/^MemTotal:\s+(\d+) kB$/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]);
    const cpus = readFileSync('/proc/cpuinfo', 'utf8').match(/^processor/gm)?.length ?? 0;
    const page = 4096;
    expect(Number(read('memory', '', 'memory.limit_in_bytes'))).toBe(
      Math.floor((kibibytes * 1024 - 256 * mebi) / page) * page,
    );
    expect(Number(read('cpu', '', 'cpu.shares'))).toBe(Math.floor(((cpus * 1000 - 200) * 1024) / 1000));
  });
});
