// The life of storage drivers on a node: CSI drivers that are installed late, register together, are upgraded in place and removed,
// with pods that wait for them and pods that run; and a FlexVolume driver.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, onTestFailed, test } from 'vitest';
import type { CSINode, Volume } from '../src/api/k8s/types.ts';
import type { RegistrationStatus } from '../src/api/kubelet/generated/pluginregistration/v1/api.ts';
import { mountsAt } from '../test/csi-driver/host.ts';
import { startRig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import { startCluster } from './support/cluster.ts';
import type { CsiDriver } from './support/csi-driver.ts';
import { CsiNode, describeOnCsiNode } from './support/csi-node.ts';

const late = 'late.example.com';

describeOnCsiNode('storage drivers', () => {
  let node: CsiNode;
  let lateDriver: CsiDriver;

  beforeAll(async () => {
    const rig = await startRig();
    const cluster = await startCluster(rig, 'node1');
    const flags = [`--kubeconfig=${cluster.kubeconfig}`, `--ready-requires-csi-drivers=${late}`];
    const kubelet = await rig.kubelet({ nodeName: 'node1', flags });
    node = new CsiNode({ rig, cluster, kubelet });
  });
  afterAll(async () => {
    try {
      await node.close();
    } finally {
      await node.rig.stop();
      await node.cluster.stop();
    }
  });
  beforeEach(() => onTestFailed(() => console.error(node.cluster.describeState(node.kubelet))));

  const csiNode = (): CSINode | undefined => node.objects.get('csinodes', '', node.cluster.nodeName);
  const drivers = (): readonly string[] => (csiNode()?.spec.drivers ?? []).map(({ name }) => name).sort();
  const nodeIds = (): unknown =>
    JSON.parse(node.cluster.node()?.metadata?.annotations?.['csi.volume.kubernetes.io/nodeid'] ?? '{}');
  const ready = () => node.cluster.node()?.status?.conditions?.find(({ type }) => type === 'Ready');

  test('pod and node wait for a driver that is installed late, and say so', async () => {
    await waitFor(() => ready()?.message?.includes(late), 'the node to name the driver');
    expect(ready()).toMatchObject({ status: 'False', reason: 'KubeletNotReady' });
    expect(ready()?.message).toContain(`waiting for CSI driver ${late} to register`);
    lateDriver = node.newDriver({ name: late });
    node.claim({ name: 'early', driver: late });
    node.objects.create('csidrivers', { metadata: { name: late }, spec: { attachRequired: false } });
    node.createWith('early', ['early']);
    await node.untilExplained('early', `volume early waits for the CSI driver ${late} to register`);
    await node.untilEvent('FailedMount', `volume "early" waits for the CSI driver ${late} to register`);
    await lateDriver.start();
    const pod = await node.cluster.untilReady('early');
    expect(await node.exec(pod, 'cat /early/csi-volume.json')).toContain('early');
    await node.cluster.untilNodeReady();
    expect(lateDriver.calls('NodeStageVolume')).toHaveLength(1);
    // One event, however long it took.
    expect(node.messages('FailedMount', 'early')).toHaveLength(1);
    await node.end('early');
    await node.untilNoLeftovers();
    // After that the node stays Ready without the driver.
    await lateDriver.stop();
    await waitFor(() => !drivers().includes(late), 'the driver to be gone from CSINode');
    expect(ready()?.status).toBe('True');
    await lateDriver.start();
    await lateDriver.waitRegistered();
  });

  test('several drivers register at once, with node IDs, limits, topology; and are removed one by one', async () => {
    const [limited, spread] = [
      node.newDriver({ name: 'limited.example.com', nodeId: 'machine-7', maxVolumes: 12 }),
      node.newDriver({
        name: 'spread.example.com',
        topology: { 'example.com/zone': 'north', 'example.com/rack': 'r2' },
      }),
    ];
    await Promise.all([limited.start(), spread.start()]);
    await Promise.all([limited.waitRegistered(), spread.waitRegistered()]);
    const { nodeName } = node.cluster;
    const found = csiNode();
    expect(found?.metadata?.ownerReferences).toEqual([
      { apiVersion: 'v1', kind: 'Node', name: nodeName, uid: node.cluster.node()?.metadata?.uid },
    ]);
    expect(found?.metadata?.annotations?.['storage.alpha.kubernetes.io/migrated-plugins']).toContain(
      'kubernetes.io/aws-ebs,kubernetes.io/azure-disk',
    );
    expect(found?.spec.drivers.toSorted((a, b) => (a.name < b.name ? -1 : 1))).toEqual([
      { name: late, nodeID: nodeName, topologyKeys: null },
      { name: 'limited.example.com', nodeID: 'machine-7', topologyKeys: null, allocatable: { count: 12 } },
      {
        name: 'spread.example.com',
        nodeID: nodeName,
        topologyKeys: ['example.com/rack', 'example.com/zone'],
      },
    ]);
    expect(nodeIds()).toEqual({
      [late]: nodeName,
      'limited.example.com': 'machine-7',
      'spread.example.com': nodeName,
    });
    const labels = { 'example.com/zone': 'north', 'example.com/rack': 'r2' };
    expect(node.cluster.node()?.metadata?.labels).toMatchObject(labels);
    await spread.stop();
    await waitFor(() => !drivers().includes(spread.name), 'the driver to be gone from CSINode');
    await waitFor(() => !(spread.name in (nodeIds() as object)), 'the driver to be gone from the annotation');
    expect(drivers()).toEqual([late, 'limited.example.com']);
    expect(node.cluster.node()?.metadata?.labels).toMatchObject(labels);
    // A driver that contradicts the labels of the node is refused, and learns why.
    await spread.start({ topology: { 'example.com/zone': 'south' } });
    await waitFor(() => {
      const last = spread.calls('NotifyRegistrationStatus').at(-1)?.request as RegistrationStatus;
      return last.error.includes('detected topology value collision') && !last.pluginRegistered;
    }, 'the kubelet to refuse the driver');
    expect(drivers()).toEqual([late, 'limited.example.com']);
    await Promise.all([spread.stop(), limited.stop()]);
    await waitFor(() => drivers().length === 1, 'both drivers to be gone');
  });

  test('a driver is upgraded in place while a pod uses it: nothing is unmounted, and later calls go to the new one', async () => {
    for (const name of ['ext4-kept', 'tmpfs-later']) node.claim({ name, driver: late });
    node.createWith('runner', ['ext4-kept']);
    const runner = await node.cluster.untilReady('runner');
    await node.exec(runner, 'echo before > /ext4-kept/file');
    const oldPid = lateDriver.pid;
    const oldSocket = lateDriver.sockets.registration;
    const registered = csiNode()?.metadata?.resourceVersion;
    await lateDriver.upgrade({ flags: ['--vendor-version=2'] });
    await waitFor(() => !existsSync(oldSocket), 'the old socket to be gone');
    node.createWith('newcomer', ['ext4-kept', 'tmpfs-later']);
    const newcomer = await node.cluster.untilReady('newcomer');
    expect(await node.exec(newcomer, 'cat /ext4-kept/file')).toBe('before\n');
    const pids = (method: string, handle: string): readonly number[] =>
      lateDriver
        .calls(method)
        .filter(({ request }) => (request as { readonly volumeId: string }).volumeId === handle)
        .map(({ pid }) => pid);
    expect(lateDriver.pid).not.toBe(oldPid);
    expect(pids('NodePublishVolume', 'ext4-kept')).toEqual([oldPid, lateDriver.pid]);
    expect(pids('NodeStageVolume', 'ext4-kept')).toEqual([oldPid]);
    expect(pids('NodeStageVolume', 'tmpfs-later')).toEqual([lateDriver.pid]);
    expect(lateDriver.events('unmount').filter(({ volume }) => volume === 'ext4-kept')).toEqual([]);
    expect(drivers()).toEqual([late]);
    // The same node ID: nothing had to be written.
    expect(csiNode()?.metadata?.resourceVersion).toBe(registered);
    await node.end('runner', 'newcomer');
    await node.untilNoLeftovers();
    expect(pids('NodeUnpublishVolume', 'ext4-kept')).toEqual([lateDriver.pid, lateDriver.pid]);
    expect(pids('NodeUnstageVolume', 'ext4-kept')).toEqual([lateDriver.pid]);
  });

  test('a FlexVolume driver is found when it is installed, mounts for a container, and unmounts', async () => {
    const volume: Volume = {
      name: 'flex',
      flexVolume: { driver: 'example.com/shell', readOnly: false, options: { word: 'hello' } },
    };
    const pod = node.createWith('flexible', [volume]);
    await node.untilExplained('flexible', 'FlexVolume driver example.com/shell to appear');
    const dir = join(node.kubelet.dir, 'volume-plugins', 'example.com~shell');
    const calls = join(node.rig.workspace.dir, 'flex-calls');
    mkdirSync(dir, { recursive: true });
    const program = `#!/bin/sh
echo "$@" >> ${calls}
case "$1" in
init) echo '{"status": "Success", "capabilities": {"attach": false}}' ;;
mount) mount -t tmpfs -o size=1m flex "$2" && echo "$3" > "$2/options" && echo '{"status": "Success"}' ;;
unmount) umount "$2" && echo '{"status": "Success"}' ;;
*) echo '{"status": "Not supported"}' ;;
esac
`;
    // As drivers are installed: an executable that is still written to cannot be run.
    writeFileSync(join(dir, '.shell'), program, { mode: 0o755 });
    renameSync(join(dir, '.shell'), join(dir, 'shell'));
    const ready = await node.cluster.untilReady('flexible');
    const options = JSON.parse(await node.exec(ready, 'cat /flex/options')) as Record<string, string>;
    expect(options).toMatchObject({
      word: 'hello',
      'kubernetes.io/readwrite': 'rw',
      'kubernetes.io/pvOrVolumeName': 'flex',
      'kubernetes.io/pod.name': 'flexible',
      'kubernetes.io/pod.uid': pod.metadata?.uid,
    });
    const path = join(
      node.kubelet.rootDir,
      'pods',
      pod.metadata?.uid ?? '',
      'volumes/example.com~shell/flex',
    );
    expect(mountsAt(path)).toHaveLength(1);
    await node.end('flexible');
    expect(mountsAt(path)).toEqual([]);
    expect(existsSync(path)).toBe(false);
    const commands = readFileSync(calls, 'utf8')
      .split('\n')
      .map((line) => line.split(' ')[0]);
    expect(commands.filter((command) => command === 'mount')).toHaveLength(1);
    expect(commands.filter((command) => command === 'unmount')).toHaveLength(1);
  });
});
