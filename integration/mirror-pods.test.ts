// Mirror pods of static pods whose manifests change, after upstream's mirror_pod_test.go and
// mirror_pod_grace_period_test.go, with shorter grace periods.
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Pod } from '../src/api/k8s/types.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { type Cluster, isReady } from './support/cluster.ts';
import { container, ignoresTerm, manifest } from './support/manifest.ts';
import { useClusterNode } from './support/suite-node.ts';

const graceSeconds = 3;

describeOnRig('mirror pods', () => {
  let cluster: Cluster;
  let kubelet: Kubelet;

  useClusterNode((node) => ({ cluster, kubelet } = node));

  const graceful = (name: string): Pod =>
    manifest(name, {
      terminationGracePeriodSeconds: graceSeconds,
      containers: [container('main', ignoresTerm)],
    });
  const shown = (name: string): readonly unknown[] => {
    const pod = cluster.pod(`${name}-node1`);
    return [pod?.metadata?.uid, pod?.status?.phase];
  };
  const expectUnchanged = async (name: string, before: readonly unknown[], ms: number): Promise<void> => {
    const endMs = performance.now() + ms;
    do {
      expect(shown(name)).toEqual(before);
      await sleep(100);
    } while (performance.now() < endMs);
  };

  test('the mirror pod of an edited manifest shows the old pod for its grace period, then the new one', async () => {
    kubelet.writeManifest('edited', graceful('edited'));
    await cluster.untilReady('edited-node1');
    const before = shown('edited');
    kubelet.writeManifest('edited', manifest('edited'));
    await expectUnchanged('edited', before, (graceSeconds - 1) * 1000);
    await cluster.untilPod(
      'edited-node1',
      'to be replaced and ready',
      (status, pod) => isReady(status) && pod.metadata?.uid !== before[0],
    );
    kubelet.removeManifest('edited');
    await cluster.untilGone('edited-node1');
  });

  test('a manifest removed and written again restarts the pod once and keeps its mirror pod', async () => {
    kubelet.writeManifest('again', graceful('again'));
    await cluster.untilReady('again-node1');
    const before = shown('again');
    const path = kubelet.manifestPath('again');
    const text = JSON.stringify(graceful('again'));
    // A replacement with the same content is not a removal.
    for (const each of ['one', 'two', 'three']) {
      writeFileSync(`${path}.${each}`.replace('again', '.again'), text);
      renameSync(`${path}.${each}`.replace('again', '.again'), path);
    }
    await sleep(1_000);
    expect(cluster.pod('again-node1')?.status?.containerStatuses?.[0]?.restartCount).toBe(0);
    rmSync(path);
    writeFileSync(path, text);
    const after = await cluster.untilPod(
      'again-node1',
      'to be restarted and ready',
      (status) => isReady(status) && status.containerStatuses?.[0]?.restartCount === 1,
    );
    expect(after.metadata?.uid).toBe(before[0]);
    kubelet.removeManifest('again');
    await expectUnchanged('again', before, (graceSeconds - 1) * 1000);
    await cluster.untilGone('again-node1');
  });

  test('a restart of the kubelet does not change the mirror pod', async () => {
    const exec = { command: ['true'] };
    const probe = { exec, initialDelaySeconds: 1, periodSeconds: 1 };
    const containers = [container('main', undefined, { startupProbe: probe, readinessProbe: probe })];
    kubelet.writeManifest('steady', manifest('steady', { containers }));
    const before = await cluster.untilReady('steady-node1');
    await kubelet.stop();
    await sleep(1_500);
    await kubelet.start();
    await cluster.untilNodeReady();
    await sleep(4_000);
    expect(cluster.pod('steady-node1')?.status).toEqual(before.status);
    expect(cluster.pod('steady-node1')?.metadata?.uid).toBe(before.metadata?.uid);
    kubelet.removeManifest('steady');
    await cluster.untilGone('steady-node1');
  });
});
