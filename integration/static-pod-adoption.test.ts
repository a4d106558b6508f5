// Static pods that a kubelet of an earlier release started under another UID keep running under it, in a cluster and on a
// real containerd. The earlier kubelet is this one with its UID in the manifest: labels, directories and annotations are the
// same.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import type { Pod, Volume } from '../src/api/k8s/types.ts';
import { staticPodHashes } from '../src/api/pod/static-pod-hash/compute.ts';
import { buildStaticPod } from '../src/sources/static-pod.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import type { Rig } from './rig/rig.ts';
import type { Cluster } from './support/cluster.ts';
import { container, exitsOnTerm, type ManifestOver, manifest } from './support/manifest.ts';
import { runtimePod } from './support/runtime-pods.ts';
import { useClusterNode } from './support/suite-node.ts';

const probe = { exec: { command: ['true'] }, periodSeconds: 1 };
const data = [{ name: 'data', mountPath: '/data' }];
const volumes: Volume[] = [
  { name: 'data', emptyDir: {} },
  { name: 'info', downwardAPI: { items: [{ path: 'uid', fieldRef: { fieldPath: 'metadata.uid' } }] } },
];
const adoptable = (over: ManifestOver = {}): Pod =>
  manifest('adopted', {
    initContainers: [container('init', 'echo ready > /data/flag', { volumeMounts: data })],
    containers: [
      container('main', exitsOnTerm, {
        volumeMounts: [...data, { name: 'info', mountPath: '/info' }],
        startupProbe: probe,
        readinessProbe: probe,
        livenessProbe: probe,
      }),
    ],
    volumes,
    ...over,
  });

describeOnRig('adoption of static pods', () => {
  let rig: Rig;
  let cluster: Cluster;
  let kubelet: Kubelet;

  useClusterNode((node) => ({ rig, cluster, kubelet } = node));

  /** The UID of the manifest under v1.34, or under this release. */
  const uidUnder = (pod: Pod, release: 'v1.34' | 'current'): string => {
    const built = buildStaticPod(pod, {
      nodeName: kubelet.nodeName,
      source: 'file',
      origin: kubelet.manifestPath('adopted'),
      nowMs: 0,
      computeHash: (...args) =>
        release === 'current'
          ? staticPodHashes.computeHash(...args)
          : ([...staticPodHashes.computeEarlierHashes(...args)][2] ?? ''),
    });
    return built.ok ? (built.pod.metadata?.uid ?? '') : built.violations.join();
  };
  const podDirectories = (): readonly string[] => readdirSync(join(kubelet.rootDir, 'pods'));
  const held = () => runtimePod(rig, kubelet, 'adopted');

  beforeAll(async () => {
    const pod = adoptable();
    const uid = uidUnder(pod, 'v1.34');
    kubelet.writeManifest('adopted', { ...pod, metadata: { ...pod.metadata, uid } });
    await cluster.untilReady('adopted-node1');
  });

  test('a pod under the UID of v1.34 is taken over without a restart or a transition', async () => {
    const uid = uidUnder(adoptable(), 'v1.34');
    const [before, mirror] = [await held(), cluster.pod('adopted-node1')];
    expect(before.containers.map((each) => [each.uid, each.restartCount])).toEqual([
      [uid, 0],
      [uid, 0],
    ]);
    for (const end of ['stop', 'kill9'] as const) {
      await kubelet[end]();
      kubelet.writeManifest('adopted', adoptable());
      await kubelet.start();
      await sleep(4_000);
      expect(await held()).toEqual(before);
      expect(cluster.pod('adopted-node1')).toEqual(mirror);
      expect(podDirectories()).toEqual([uid]);
    }
    expect(mirror?.metadata?.annotations?.['kubernetes.io/config.mirror']).toBe(uid);
  });

  test('an edit of its manifest replaces it under the UID of this release', async () => {
    const edited = adoptable({ metadata: { labels: { edited: 'yes' } } });
    const uid = uidUnder(edited, 'current');
    kubelet.writeManifest('adopted', edited);
    await cluster.untilPod(
      'adopted-node1',
      'to be replaced',
      (status, pod) =>
        pod.metadata?.annotations?.['kubernetes.io/config.mirror'] === uid && status.phase === 'Running',
    );
    expect((await held()).containers.every((each) => each.uid === uid)).toBe(true);
    expect(podDirectories()).toEqual([uid]);
  });
});
