// A hundred pods, a third of them replaced and a third crashing, leave nothing on the machine, and the kubelet's memory
// returns to its previous level.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cgroupFolders } from './rig/cgroups.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { mountsBelow } from './rig/mounts.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { type Rig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import { container, exitsOnTerm, manifest } from './support/manifest.ts';
import { useNode } from './support/suite-node.ts';

const count = 100;
const mebi = 1024 * 1024;
const longMs = 240_000;

describeOnRig('churn', () => {
  let rig: Rig;
  let kubelet: Kubelet;
  useNode((node) => ({ rig, kubelet } = node));

  const names = (prefix: string, many: number): readonly string[] =>
    Array.from({ length: many }, (_, index) => `${prefix}-${index}`);

  function rssBytes(): number {
    const status = readFileSync(`/proc/${kubelet.pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
  }

  async function untilAll(
    many: number,
    what: string,
    is: (phase: string, restarts: number) => boolean,
  ): Promise<void> {
    await waitFor(
      async () => {
        const pods = await kubelet.pods();
        const good = pods.filter(({ status }) =>
          is(status?.phase ?? '', status?.containerStatuses?.[0]?.restartCount ?? 0),
        ).length;
        if (good === many) return true;
        throw new Error(`${good} of ${many}, ${pods.length} pods in all`);
      },
      what,
      { timeoutMs: longMs, everyMs: 500 },
    );
  }

  /** All leftovers of pods, one line each. */
  async function leftovers(): Promise<readonly string[]> {
    const { items } = await rig.cri.listPodSandbox({});
    const { containers } = await rig.cri.listContainers({});
    const list = (dir: string): readonly string[] => readdirSync(dir).map((name) => join(dir, name));
    return [
      ...items.map(({ id }) => `sandbox ${id}`),
      ...containers.map(({ id }) => `container ${id}`),
      ...list(join(kubelet.rootDir, 'pods')),
      ...list(kubelet.podLogsDir),
      ...cgroupFolders(rig.cgroupParent).filter((folder) => /\/pod[^/]+(\/|$)/.test(folder)),
      ...mountsBelow(join(kubelet.rootDir, 'pods')).map((mount) => `mount ${mount}`),
    ];
  }

  async function untilNothingLeft(): Promise<void> {
    await waitFor(
      async () => {
        const left = await leftovers();
        if (left.length === 0) return true;
        throw new Error(`${left.length} left: ${left.slice(0, 5).join(', ')}`);
      },
      'all resources of the pods to be removed',
      { timeoutMs: longMs, everyMs: 500 },
    );
  }

  const volumes = [{ name: 'v', emptyDir: {} }];
  const mounted = (script: string) => [
    container('main', script, { volumeMounts: [{ name: 'v', mountPath: '/v' }] }),
  ];

  test(
    'a hundred pods leave nothing behind',
    async () => {
      for (const name of names('warm', 10)) kubelet.writeManifest(name, manifest(name));
      await untilAll(10, 'the first pods to run', (phase) => phase === 'Running');
      for (const name of names('warm', 10)) kubelet.removeManifest(name);
      await untilNothingLeft();
      const before = rssBytes();

      for (const [index, name] of names('pod', count).entries()) {
        // A third crashes after a second.
        const script = index % 3 === 1 ? 'sleep 1; exit 1' : exitsOnTerm;
        kubelet.writeManifest(name, manifest(name, { volumes, containers: mounted(script) }));
      }
      await untilAll(count, 'all pods to have started', (phase) => phase === 'Running');
      for (const [index, name] of names('pod', count).entries()) {
        if (index % 3 !== 2) continue;
        const metadata = { labels: { generation: '2' } };
        kubelet.writeManifest(name, manifest(name, { metadata, volumes, containers: mounted(exitsOnTerm) }));
      }
      await waitFor(
        async () => {
          const pods = await kubelet.pods();
          const replaced = pods.filter(
            ({ metadata, status }) => metadata?.labels?.['generation'] === '2' && status?.phase === 'Running',
          ).length;
          const crashed = pods.filter(
            ({ status }) => (status?.containerStatuses?.[0]?.restartCount ?? 0) > 0,
          ).length;
          if (replaced === 33 && crashed >= 33) return true;
          throw new Error(`${replaced} replaced, ${crashed} crashed`);
        },
        'a third to be replaced and a third to have crashed',
        { timeoutMs: longMs, everyMs: 500 },
      );
      for (const name of names('pod', count)) kubelet.removeManifest(name);
      await untilNothingLeft();
      expect(await kubelet.pods()).toEqual([]);
      // The kubelet releases memory after some quiet time.
      await waitFor(
        () => {
          const more = rssBytes() - before;
          if (more <= 15 * mebi) return true;
          throw new Error(`${(more / mebi).toFixed(1)} MiB more than ${(before / mebi).toFixed(1)} before`);
        },
        'the memory to return to its previous level',
        { timeoutMs: longMs, everyMs: 1000 },
      );
    },
    longMs * 4,
  );
});
