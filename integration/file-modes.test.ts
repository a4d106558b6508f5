// Modes and owners of every file and directory that the kubelet creates, under any umask: its own directories, those of
// a static pod and of a pod with every kind of volume, logs and certificates. A path that is not in the table fails the
// test, so that a change that adds a file has to state its mode and owner.
import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFailed, test } from 'vitest';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import type { Rig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import type { Cluster } from './support/cluster.ts';
import { container, exitsOnTerm, manifest } from './support/manifest.ts';
import { useClusterNode } from './support/suite-node.ts';

const table: readonly string[] = [
  'root/actuated_pods_state -600 0:0',
  'root/allocated_pods_state -600 0:0',
  'root/checkpoints d700 0:0',
  'root/cpu_manager_state -600 0:0',
  'root/device-plugins d750 0:0',
  'root/device-plugins/kubelet.sock s755 0:0',
  'root/kubelet-api.sock s600 0:0',
  'root/memory_manager_state -600 0:0',
  'root/plugins d750 0:0',
  'root/plugins_registry d750 0:0',
  'root/pod-resources d750 0:0',
  'root/pod-resources/kubelet.sock s755 0:0',
  'root/pods d750 0:0',
  'root/pods-api d750 0:0',
  'root/pods-api/pods-api.sock s755 0:0',
  'root/pods/UID d750 0:0',
  'root/pods/UID/containers d750 0:0',
  'root/pods/UID/containers/main d750 0:0',
  'root/pods/UID/containers/main/MESSAGE -666 0:0',
  'root/pods/UID/etc-hosts -644 0:0',
  'root/pods/UID/plugins d750 0:0',
  'root/pods/UID/plugins/kubernetes.io~empty-dir d750 0:0',
  'root/pods/UID/plugins/kubernetes.io~empty-dir/disk d750 0:0',
  'root/pods/UID/plugins/kubernetes.io~empty-dir/disk/ready -644 0:0',
  'root/pods/UID/plugins/kubernetes.io~empty-dir/memory d750 0:0',
  'root/pods/UID/plugins/kubernetes.io~empty-dir/memory/ready -644 0:0',
  'root/pods/UID/plugins/kubernetes.io~empty-dir/wrapped_closed d750 0:0',
  'root/pods/UID/plugins/kubernetes.io~empty-dir/wrapped_closed/ready -644 0:0',
  'root/pods/UID/plugins/kubernetes.io~empty-dir/wrapped_config d750 0:0',
  'root/pods/UID/plugins/kubernetes.io~empty-dir/wrapped_config/ready -644 0:0',
  'root/pods/UID/plugins/kubernetes.io~empty-dir/wrapped_downward d750 0:0',
  'root/pods/UID/plugins/kubernetes.io~empty-dir/wrapped_downward/ready -644 0:0',
  'root/pods/UID/plugins/kubernetes.io~empty-dir/wrapped_kube-api-access-ID d750 0:0',
  'root/pods/UID/plugins/kubernetes.io~empty-dir/wrapped_kube-api-access-ID/ready -644 0:0',
  'root/pods/UID/plugins/kubernetes.io~empty-dir/wrapped_projected d750 0:0',
  'root/pods/UID/plugins/kubernetes.io~empty-dir/wrapped_projected/ready -644 0:0',
  'root/pods/UID/plugins/kubernetes.io~empty-dir/wrapped_secret d750 0:0',
  'root/pods/UID/plugins/kubernetes.io~empty-dir/wrapped_secret/ready -644 0:0',
  'root/pods/UID/volume-subpaths d750 0:0',
  'root/pods/UID/volume-subpaths/disk d750 0:0',
  'root/pods/UID/volume-subpaths/disk/main d750 0:0',
  'root/pods/UID/volume-subpaths/disk/main/9 d777 0:0',
  'root/pods/UID/volumes d750 0:0',
  'root/pods/UID/volumes/kubernetes.io~configmap d750 0:0',
  'root/pods/UID/volumes/kubernetes.io~configmap/config d777 0:0',
  'root/pods/UID/volumes/kubernetes.io~configmap/config/..STAMP d755 0:0',
  'root/pods/UID/volumes/kubernetes.io~configmap/config/..STAMP/k -644 0:0',
  'root/pods/UID/volumes/kubernetes.io~configmap/config/..data l 0:0',
  'root/pods/UID/volumes/kubernetes.io~configmap/config/k l 0:0',
  'root/pods/UID/volumes/kubernetes.io~downward-api d750 0:0',
  'root/pods/UID/volumes/kubernetes.io~downward-api/downward d1777 0:0',
  'root/pods/UID/volumes/kubernetes.io~downward-api/downward/..STAMP d755 0:0',
  'root/pods/UID/volumes/kubernetes.io~downward-api/downward/..STAMP/labels -644 0:0',
  'root/pods/UID/volumes/kubernetes.io~downward-api/downward/..data l 0:0',
  'root/pods/UID/volumes/kubernetes.io~downward-api/downward/labels l 0:0',
  'root/pods/UID/volumes/kubernetes.io~empty-dir d750 0:0',
  'root/pods/UID/volumes/kubernetes.io~empty-dir/disk d777 0:0',
  'root/pods/UID/volumes/kubernetes.io~empty-dir/disk/made d777 0:0',
  'root/pods/UID/volumes/kubernetes.io~empty-dir/disk/made/part d777 0:0',
  'root/pods/UID/volumes/kubernetes.io~empty-dir/memory d1777 0:0',
  'root/pods/UID/volumes/kubernetes.io~projected d750 0:0',
  'root/pods/UID/volumes/kubernetes.io~projected/kube-api-access-ID d1777 0:0',
  'root/pods/UID/volumes/kubernetes.io~projected/kube-api-access-ID/..STAMP d755 0:0',
  'root/pods/UID/volumes/kubernetes.io~projected/kube-api-access-ID/..STAMP/ca.crt -644 0:0',
  'root/pods/UID/volumes/kubernetes.io~projected/kube-api-access-ID/..STAMP/namespace -644 0:0',
  'root/pods/UID/volumes/kubernetes.io~projected/kube-api-access-ID/..STAMP/token -644 0:0',
  'root/pods/UID/volumes/kubernetes.io~projected/kube-api-access-ID/..data l 0:0',
  'root/pods/UID/volumes/kubernetes.io~projected/kube-api-access-ID/ca.crt l 0:0',
  'root/pods/UID/volumes/kubernetes.io~projected/kube-api-access-ID/namespace l 0:0',
  'root/pods/UID/volumes/kubernetes.io~projected/kube-api-access-ID/token l 0:0',
  'root/pods/UID/volumes/kubernetes.io~projected/projected d1777 0:0',
  'root/pods/UID/volumes/kubernetes.io~projected/projected/..STAMP d755 0:0',
  'root/pods/UID/volumes/kubernetes.io~projected/projected/..STAMP/k -644 0:0',
  'root/pods/UID/volumes/kubernetes.io~projected/projected/..STAMP/labels -644 0:0',
  'root/pods/UID/volumes/kubernetes.io~projected/projected/..data l 0:0',
  'root/pods/UID/volumes/kubernetes.io~projected/projected/k l 0:0',
  'root/pods/UID/volumes/kubernetes.io~projected/projected/labels l 0:0',
  'root/pods/UID/volumes/kubernetes.io~secret d750 0:0',
  'root/pods/UID/volumes/kubernetes.io~secret/closed d1777 0:0',
  'root/pods/UID/volumes/kubernetes.io~secret/closed/..STAMP d755 0:0',
  'root/pods/UID/volumes/kubernetes.io~secret/closed/..STAMP/k -400 0:0',
  'root/pods/UID/volumes/kubernetes.io~secret/closed/..data l 0:0',
  'root/pods/UID/volumes/kubernetes.io~secret/closed/k l 0:0',
  'root/pods/UID/volumes/kubernetes.io~secret/secret d1777 0:0',
  'root/pods/UID/volumes/kubernetes.io~secret/secret/..STAMP d755 0:0',
  'root/pods/UID/volumes/kubernetes.io~secret/secret/..STAMP/k -644 0:0',
  'root/pods/UID/volumes/kubernetes.io~secret/secret/..data l 0:0',
  'root/pods/UID/volumes/kubernetes.io~secret/secret/k l 0:0',
  'logs/default_p_UID d755 0:0',
  'logs/default_p_UID/main d755 0:0',
  'logs/default_p_UID/main/0.log -640 0:0',
  'logs/default_static-node1_UID d755 0:0',
  'logs/default_static-node1_UID/main d755 0:0',
  'logs/default_static-node1_UID/main/0.log -640 0:0',
  'links/. d755 0:0',
  'links/p_default_main-ID.log l 0:0',
  'links/static-node1_default_main-ID.log l 0:0',
  'pki/. d755 0:0',
  'pki/kubelet.crt -644 0:0',
  'pki/kubelet.key -600 0:0',
  'host/. d755 0:0',
  'host/dir d755 0:0',
  'host/file -644 0:0',
];

for (const umask of ['000', '077'])
  describeOnRig(`files of a kubelet with umask ${umask}`, () => {
    let rig: Rig;
    let cluster: Cluster;
    let kubelet: Kubelet;

    useClusterNode(
      (node) => ({ rig, cluster, kubelet } = node),
      () => ({ umask }),
    );

    test('have the modes and owners of the table, and no other files exist', async () => {
      onTestFailed(() => console.error(cluster.describeState(kubelet)));
      const host = join(rig.workspace.dir, 'host');
      const metadata = { name: 'o', namespace: 'default' };
      cluster.double.objects.create('configmaps', { metadata, data: { k: 'v' } });
      cluster.double.objects.create('secrets', { metadata, data: { k: 'dg==' } });
      const labels = { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] };
      const volumes = [
        { name: 'disk', emptyDir: {} },
        { name: 'memory', emptyDir: { medium: 'Memory' } },
        { name: 'config', configMap: { name: 'o' } },
        { name: 'secret', secret: { secretName: 'o' } },
        { name: 'closed', secret: { secretName: 'o', defaultMode: 0o400 } },
        { name: 'downward', downwardAPI: labels },
        {
          name: 'projected',
          projected: { sources: [{ configMap: { name: 'o' } }, { downwardAPI: labels }] },
        },
        { name: 'host-dir', hostPath: { path: join(host, 'dir'), type: 'DirectoryOrCreate' } },
        { name: 'host-file', hostPath: { path: join(host, 'file'), type: 'FileOrCreate' } },
      ];
      const volumeMounts = [
        ...volumes.map(({ name }) => ({ name, mountPath: `/${name}` })),
        { name: 'disk', mountPath: '/part', subPath: 'made/part' },
      ];
      const spec = { volumes, containers: [container('main', exitsOnTerm, { volumeMounts })] };
      cluster.createPod(manifest('p', spec));
      kubelet.writeManifest(
        'static',
        manifest('static', {
          volumes: [{ name: 'disk', emptyDir: {} }],
          containers: [
            container('main', exitsOnTerm, { volumeMounts: [{ name: 'disk', mountPath: '/disk' }] }),
          ],
        }),
      );
      await cluster.untilReady('p');
      await waitFor(
        async () =>
          (await kubelet.pods()).some(
            ({ metadata: its, status }) =>
              its?.name?.startsWith('static') === true && status?.phase === 'Running',
          ),
        'the static pod to run',
        60_000,
      );
      const links = join(kubelet.dir, 'containers');
      const all = (): readonly string[] => [
        ...listed('root', kubelet.rootDir, false),
        ...listed('logs', kubelet.podLogsDir, false),
        ...listed('links', links),
        ...listed('pki', kubelet.certDir),
        ...listed('host', host),
      ];
      // Some files are written shortly after the pod is reported as running.
      await expect.poll(all, { timeout: 20_000 }).toEqual(table);
    }, 180_000);
  });

/** `<mode> <owner>:<group> <path>` of everything below, with variable parts replaced; sorted and unique. Without the
 * directory itself if the rig creates it. */
function listed(name: string, root: string, isKubelets = true): readonly string[] {
  const below = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
    // Not a second time through the link; predecessors of state files are links to files of the table, from the second write on.
    (each) => !each.includes('/..data/') && !each.endsWith('.previous'),
  );
  const lines = [...(isKubelets ? ['.'] : []), ...below].map((each) => {
    const path = join(root, each);
    const entry = lstatSync(path);
    const { gid, mode, uid } = entry;
    const kind = entry.isDirectory() ? 'd' : entry.isSymbolicLink() ? 'l' : entry.isSocket() ? 's' : '-';
    const bits = entry.isSymbolicLink() ? '' : (mode & 0o7777).toString(8);
    return `${name}/${settled(each)} ${kind}${bits} ${uid}:${gid}`;
  });
  return [...new Set(lines)].sort();
}

function settled(path: string): string {
  return path
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UID')
    .replaceAll(/[0-9a-f]{64}/g, 'ID')
    .replaceAll(/(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])/g, 'UID')
    .replaceAll(/\.\.\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d\.\d+/g, '..STAMP')
    .replaceAll(/\d{4}-\d\d-\d\d-\d\d-\d\d-\d\d/g, 'TIME')
    .replaceAll(/kube-api-access-\w+/g, 'kube-api-access-ID')
    .replaceAll(/containers\/main\/[0-9a-f]{8}$/g, 'containers/main/MESSAGE');
}
