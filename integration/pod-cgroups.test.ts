// The kernel enforces the resources of pods: cgroup files for all three QoS classes, for the class cgroups and for all
// pods together.
import { existsSync, readFileSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import { describeOnRig } from './rig/on-rig.ts';
import type { Rig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import { KernelCgroups } from './support/kernel-cgroups.ts';
import { container, manifest } from './support/manifest.ts';
import { containerIdOf, uidOf } from './support/pod-state.ts';
import { useNode } from './support/suite-node.ts';

const mebi = 1024 * 1024;

describeOnRig('cgroups of pods', () => {
  let rig: Rig;
  let kernel: KernelCgroups;
  const own = useNode(
    (node) => ({ rig } = node),
    () => ({
      config: { podPidsLimit: 200, kubeReserved: { cpu: '200m', memory: '256Mi' }, evictionHard: {} },
    }),
  );
  beforeAll(async () => {
    kernel = await KernelCgroups.find();
  });

  /** A path below the cgroup of all pods. */
  const below = (path: string): string => `${rig.workspace.name}/kubepods/${path}`;

  const file = (controller: string, path: string, name: string): string =>
    kernel.fileOf(controller, below(path), name);

  /** CPU shares of version 1, or the weight of version 2: 1 to 10000 for 2 to 262144. */
  const weight = (path: string): string => kernel.amount(below(path), 'cpu.shares');

  /** The limits of a cgroup in the kernel. */
  const amounts = (path: string): Record<string, string> => ({
    weight: weight(path),
    quota: kernel.amount(below(path), 'cpu.cfs_quota_us'),
    memory: kernel.amount(below(path), 'memory.limit_in_bytes'),
    pids: kernel.amount(below(path), 'pids.max'),
  });

  const of = (cpu: string, memory: string): Record<string, string> => ({ cpu, memory });
  const cases = [
    ['best effort', 'besteffort/', {}, ['2', '1'], { quota: 'max', memory: 'max', pids: '200' }],
    [
      'burstable',
      'burstable/',
      { requests: of('100m', '16Mi'), limits: of('500m', '64Mi') },
      ['102', '4'],
      { quota: '50000', memory: `${64 * mebi}`, pids: '200' },
    ],
    [
      'guaranteed',
      '',
      { requests: of('200m', '32Mi'), limits: of('200m', '32Mi') },
      ['204', '8'],
      { quota: '20000', memory: `${32 * mebi}`, pids: '200' },
    ],
  ] as const;
  for (const [name, place, resources, weights, want] of cases) {
    test(`the cgroup of a ${name} pod has its limits`, async () => {
      const id = name.replace(' ', '-');
      const pod = await own.start(
        id,
        manifest(id, { containers: [container('main', undefined, { resources })] }),
      );
      const path = `${place}pod${uidOf(pod)}`;
      expect(amounts(path)).toEqual({ weight: kernel.either(weights), ...want });
      // The container is in its pod's cgroup, so that the pod's limits apply to it.
      expect(existsSync(file('cpu', `${path}/${containerIdOf(pod)}`, 'cgroup.procs'))).toBe(true);
      own.remove(id);
      // It is removed from one hierarchy after the other.
      for (const controller of ['cpu', 'memory', 'pids', 'cpuset', 'blkio']) {
        const procs = file(controller, path, 'cgroup.procs');
        await waitFor(() => !existsSync(procs), `the cgroup of the pod to be removed from ${controller}`);
      }
    });
  }

  test('the shares of the burstable cgroup follow the requests of its pods', async () => {
    const resources = { requests: { cpu: '300m' } };
    const containers = [container('main', undefined, { resources })];
    await own.start('one', manifest('one', { containers }));
    await own.start('two', manifest('two', { containers }));
    const has = (...weights: [v1: string, v2: string]): boolean =>
      weight('burstable') === kernel.either(weights);
    await waitFor(() => has('614', '24'), 'the shares of two pods');
    own.remove('two');
    await waitFor(() => has('307', '12'), 'the shares of one pod');
    expect(weight('besteffort')).toBe(kernel.either(['2', '1']));
  });

  test('the cgroup of all pods is limited to the capacity less reservations', () => {
    const kibibytes = Number(/^MemTotal:\s+(\d+) kB$/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]);
    const cpus = readFileSync('/proc/cpuinfo', 'utf8').match(/^processor/gm)?.length ?? 0;
    const page = 4096;
    expect(Number(kernel.amount(below(''), 'memory.limit_in_bytes'))).toBe(
      Math.floor((kibibytes * 1024 - 256 * mebi) / page) * page,
    );
    const shares = Math.floor(((cpus * 1000 - 200) * 1024) / 1000);
    const asWeight = 1 + Math.floor(((shares - 2) * 9999) / 262_142);
    expect(weight('')).toBe(kernel.either([`${shares}`, `${asWeight}`]));
  });
});
