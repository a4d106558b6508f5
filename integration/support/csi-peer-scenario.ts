// The pods with CSI volumes that run with both kubelets, and volumes that grow.
import type { Volume } from '../../src/api/k8s/types.ts';
import { requestExpansion } from './csi-objects.ts';
import { drivers } from './csi-peer-node.ts';
import { type CsiPeerPods, secretRef } from './csi-peer-pods.ts';

const fsGroup = { securityContext: { fsGroup: 2000 } } as const;
const ebs = { volumeID: 'aws://zone-a/vol-1', fsType: 'ext4', partition: 2 };

/** Pods whose volumes are staged and published at the first attempt. */
export async function runPods(pods: CsiPeerPods): Promise<void> {
  for (const name of ['stage', 'publish', 'inline']) pods.secret(name);
  pods.claim('ext4-shared', {
    csi: {
      fsType: 'ext4',
      volumeAttributes: { shape: 'round' },
      nodeStageSecretRef: secretRef('stage'),
      nodePublishSecretRef: secretRef('publish'),
    },
    volume: { mountOptions: ['noexec', 'noatime'] },
  });
  pods.pod('first', ['ext4-shared'], fsGroup);
  pods.claim('readable', { accessModes: ['ReadOnlyMany', 'ReadWriteMany'] });
  pods.pod('reader', [
    { name: 'readable', persistentVolumeClaim: { claimName: 'readable', readOnly: true } },
  ]);
  pods.claim('informed', { driver: drivers.informed, csi: { nodePublishSecretRef: secretRef('publish') } });
  const nodePublishSecretRef = { name: 'inline' };
  const inline = {
    driver: drivers.informed,
    fsType: 'ext4',
    volumeAttributes: { shape: 'flat' },
    nodePublishSecretRef,
  };
  const inlines: readonly Volume[] = [
    { name: 'inline', csi: inline },
    { name: 'inline-read', csi: { driver: drivers.informed, readOnly: true } },
  ];
  pods.pod('informed', ['informed', ...inlines], fsGroup);
  pods.claim('grouped', { driver: drivers.grouping, accessModes: ['ReadWriteOncePod'] });
  pods.pod('grouped', ['grouped'], fsGroup);
  pods.claim('block-raw', { volumeMode: 'Block' });
  pods.rawPod('raw', ['block-raw']);
  pods.generic('owner');
  pods.claim('attached-files', { driver: drivers.attached });
  pods.claim('block-attached', { driver: drivers.attached, volumeMode: 'Block' });
  pods.pod('attached', ['attached-files']);
  pods.rawPod('attached-raw', ['block-attached']);
  pods.claim('migrated', { driver: drivers.migrated });
  pods.becomes('migrated', { awsElasticBlockStore: ebs });
  pods.pod('migrated', ['migrated']);
  const inTree = { name: 'ebs', awsElasticBlockStore: { ...ebs, volumeID: 'vol-2' } } as Volume;
  pods.pod('migrated-inline', [inTree]);
  await pods.untilReady('first', 'raw', 'grouped');
  pods.pod('second', ['ext4-shared'], fsGroup);
  pods.rawPod('raw-too', ['block-raw']);
  await pods.untilReady(
    'reader',
    'informed',
    'owner',
    'attached',
    'attached-raw',
    'migrated',
    'migrated-inline',
  );
  await pods.untilReady('second', 'raw-too');
}

/** Volumes that grow while they are used and before, on storage that supports it, refuses it and fails. */
export async function expandVolumes(pods: CsiPeerPods): Promise<void> {
  const { cluster } = pods.node;
  const online = ['recovered', 'legacy', 'refused', 'fails', 'busy', 'unavailable'];
  for (const name of online) pods.claim(`tmpfs-${name}`);
  pods.claim('block-grows', { volumeMode: 'Block' });
  pods.claim('ungrown', { driver: drivers.grouping });
  const offline = ['offline', 'offline-legacy', 'offline-refused', 'offline-busy'];
  for (const name of offline) pods.claim(`tmpfs-${name}`);
  const fault = (
    volume: string,
    code: 'OUT_OF_RANGE' | 'INTERNAL' | 'FAILED_PRECONDITION' | 'UNAVAILABLE',
    times?: number,
  ) => ({
    method: 'NodeExpandVolume',
    volume,
    code,
    message: `no growth (${code})`,
    ...(times === undefined ? {} : { times }),
  });
  pods
    .driver(drivers.main)
    .setFaults(
      fault('tmpfs-refused', 'OUT_OF_RANGE'),
      fault('tmpfs-fails', 'INTERNAL', 1),
      fault('tmpfs-busy', 'FAILED_PRECONDITION'),
      fault('tmpfs-unavailable', 'UNAVAILABLE', 1),
      fault('tmpfs-offline-refused', 'OUT_OF_RANGE'),
      fault('tmpfs-offline-busy', 'FAILED_PRECONDITION'),
    );
  for (const name of online) pods.pod(`grows-${name}`, [`tmpfs-${name}`]);
  pods.rawPod('grows-raw', ['block-grows']);
  pods.pod('grows-ungrown', ['ungrown']);
  await pods.untilReady(...online.map((name) => `grows-${name}`), 'grows-raw', 'grows-ungrown');
  const grow = (name: string, recovery: boolean): void =>
    requestExpansion(cluster, name, '64Mi', { recovery });
  for (const name of online) grow(`tmpfs-${name}`, name !== 'legacy');
  grow('block-grows', true);
  grow('ungrown', true);
  for (const name of offline) {
    grow(`tmpfs-${name}`, name !== 'offline-legacy');
    pods.pod(`grows-${name}`, [`tmpfs-${name}`]);
  }
  await pods.untilReady(...offline.map((name) => `grows-${name}`));
  for (const name of ['recovered', 'legacy', 'fails', 'unavailable', 'offline', 'offline-legacy'])
    await pods.untilClaim(`tmpfs-${name}`, /"capacity":\{"storage":"64Mi"\}/);
  await pods.untilClaim('block-grows', /"capacity":\{"storage":"64Mi"\}/);
  for (const name of ['refused', 'offline-refused'])
    await pods.untilClaim(`tmpfs-${name}`, /NodeResizeInfeasible/);
  await pods.driver(drivers.main).untilCalls('NodeExpandVolume', 10);
  for (const name of ['tmpfs-busy', 'tmpfs-offline-busy', 'ungrown'])
    await pods.untilClaim(name, /NodeResizeInProgress|NodeResizeError/);
}
