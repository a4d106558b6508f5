// CSI volumes that are attached by a controller, on real mounts: the order of its steps with the kubelet's, what the driver is given,
// and a controller that is slow or fails. Then volumes that grow: online, offline, and not at all.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { PersistentVolumeClaim } from '../src/api/k8s/types.ts';
import { waitFor } from './rig/wait.ts';
import { AttachController } from './support/attach-controller.ts';
import type { CsiDriver } from './support/csi-driver.ts';
import { type CsiNode, describeOnCsiNode, useCsiNode } from './support/csi-node.ts';
import { requestExpansion, uniqueVolumeName } from './support/csi-objects.ts';

const mebibyte = 1024 ** 2;

describeOnCsiNode('CSI volumes with a controller', () => {
  let node: CsiNode;
  /** Its volumes are attached. */
  let disks: CsiDriver;
  let growing: CsiDriver;
  let controller: AttachController;

  useCsiNode(
    async (started) => {
      node = started;
      [disks, growing] = await Promise.all([
        node.driver({ maxVolumes: 16 }, { attachRequired: true }),
        node.driver({ name: 'growing.example.com', kind: 'tmpfs' }),
      ]);
      controller = new AttachController(node.cluster, { mounted: () => disks.inUse() });
      controller.start();
    },
    () => ({ config: { syncFrequency: '2s' } }),
  );

  const inUse = (): readonly string[] => node.cluster.node()?.status?.volumesInUse ?? [];
  const untilDetached = async (...handles: readonly string[]): Promise<void> => {
    await waitFor(
      () => handles.every((handle) => controller.times.get(handle)?.detachedMs !== undefined),
      'the volumes to be detached',
    );
    controller.stop();
    expect(controller.violations).toEqual([]);
    expect(inUse()).toEqual([]);
    expect(node.objects.list('volumeattachments')).toEqual([]);
    controller.start();
  };

  test('a volume is reported in use, attached, staged; and unstaged, reported unused, detached', async () => {
    const never = { attachMs: 3_600_000 };
    controller.order(never);
    for (const name of ['ext4-disk', 'directory-disk']) node.claim({ name });
    node.claim({ name: 'block-disk', volumeMode: 'Block' });
    node.createWith('first', ['ext4-disk', 'directory-disk']);
    await node.untilExplained('first', 'to attach it to this node');
    expect(inUse()).toEqual(['directory-disk', 'ext4-disk'].map((name) => uniqueVolumeName(name)));
    expect(disks.mounts()).toEqual([]);
    controller.order({ detachMs: 100, metadata: { device: '/dev/sdx' } });
    const first = await node.cluster.untilReady('first');
    const readyMs = Date.now();
    const { attachedMs = 0 } = controller.times.get('ext4-disk') ?? {};
    const mounts = disks.events('mount').filter(({ volume }) => volume === 'ext4-disk');
    const lastMountMs = mounts.at(-1)?.atMs ?? 0;
    console.log(
      `attached to published: ${lastMountMs - attachedMs} ms, to Ready: ${readyMs - attachedMs} ms, seen every 20 ms`,
    );
    for (const handle of ['ext4-disk', 'directory-disk'])
      expect([
        disks.requests('NodeStageVolume', handle).map(({ publishContext }) => publishContext),
        disks.requests('NodePublishVolume', handle).map(({ publishContext }) => publishContext),
      ]).toEqual([[{ device: '/dev/sdx' }], [{ device: '/dev/sdx' }]]);
    expect(await node.exec(first, 'cat /ext4-disk/csi-volume.json')).toContain('ext4-disk');

    // A second pod does not wait for a volume that is attached already.
    controller.order(never);
    node.createWith('second', ['ext4-disk']);
    await node.cluster.untilReady('second');
    await node.end('first');
    await waitFor(
      () => controller.times.get('directory-disk')?.detachedMs !== undefined,
      'one volume to be detached',
    );
    expect(inUse()).toEqual([uniqueVolumeName('ext4-disk')]);
    expect(node.cluster.node()?.status?.volumesAttached?.map(({ name }) => name)).toEqual(inUse());
    await node.end('second');
    await node.untilNoLeftovers();
    await untilDetached('ext4-disk', 'directory-disk');
    const {
      detachedMs = 0,
      inUseMs = 0,
      mountedMs = 0,
      notInUseMs = 0,
      unmountedMs = 0,
    } = controller.times.get('ext4-disk') ?? {};
    expect([inUseMs, mountedMs, unmountedMs, notInUseMs, detachedMs].every((ms) => ms > 0)).toBe(true);
    expect(inUseMs).toBeLessThanOrEqual(mountedMs);
    expect(attachedMs).toBeLessThanOrEqual(mountedMs);
    expect(unmountedMs).toBeLessThanOrEqual(notInUseMs);
    console.log(
      `unmounted to not in use: ${notInUseMs - unmountedMs} ms; in use to mounted: ${mountedMs - inUseMs} ms`,
    );
  });

  test('an attachment that fails is explained, and its pod starts when it succeeds', async () => {
    controller.order({ error: { message: 'the disk is in another zone' } });
    node.claim({ name: 'block-far', volumeMode: 'Block' });
    node.claim({ name: 'far' });
    node.create('far', {
      volumes: [
        { name: 'raw', persistentVolumeClaim: { claimName: 'block-far' } },
        { name: 'far', persistentVolumeClaim: { claimName: 'far' } },
      ],
      containers: [
        {
          name: 'main',
          image: node.rig.images.busybox,
          command: ['sleep', '1000000'],
          volumeMounts: [{ name: 'far', mountPath: '/far' }],
          volumeDevices: [{ name: 'raw', devicePath: '/dev/xvda' }],
        },
      ],
    });
    await node.untilExplained('far', 'the disk is in another zone');
    expect(disks.calls('NodeStageVolume').length).toBe(requestsOfAll());
    controller.order({});
    const pod = await node.cluster.untilReady('far');
    expect(await node.exec(pod, 'head -n 1 /dev/xvda')).toContain('block-far');
    expect(node.messages('FailedAttachVolume')).toEqual([]);
    await node.end('far');
    await node.untilNoLeftovers();
    await untilDetached('far', 'block-far');
  });

  /** The stagings of the volumes that were attached. */
  function requestsOfAll(): number {
    return ['ext4-disk', 'directory-disk'].flatMap((handle) => disks.requests('NodeStageVolume', handle))
      .length;
  }

  const claimOf = (name: string): PersistentVolumeClaim | undefined =>
    node.objects.get('persistentvolumeclaims', 'default', name);
  const untilClaim = async (
    name: string,
    what: string,
    is: (status: NonNullable<PersistentVolumeClaim['status']>) => boolean,
  ): Promise<NonNullable<PersistentVolumeClaim['status']>> =>
    waitFor(() => {
      const status = claimOf(name)?.status;
      return status !== undefined && is(status) && status;
    }, `claim ${name} ${what}`);
  const sizeScript = (name: string): string => `df -k /${name} | tail -n 1 | awk '{print $2}'`;

  test('a volume grows while its pod runs, with the failures on the way in the status of the claim', async () => {
    node.objects.create('secrets', {
      metadata: { name: 'grow-word', namespace: 'default' },
      data: { word: Buffer.from('let-it-grow').toString('base64') },
    });
    const reference = { name: 'grow-word', namespace: 'default' };
    node.claim({
      name: 'online',
      driver: growing.name,
      size: '16Mi',
      csi: { nodeExpandSecretRef: reference },
    });
    node.claim({ name: 'legacy', driver: growing.name, size: '16Mi' });
    node.claim({ name: 'huge', driver: growing.name, size: '16Mi' });
    for (const name of ['online', 'legacy', 'huge'])
      node.objects.patch('persistentvolumes', '', name, {
        spec: { csi: { volumeAttributes: { size: String(16 * mebibyte) } } },
      });
    node.createWith('grown', ['online', 'legacy', 'huge']);
    const pod = await node.cluster.untilReady('grown');
    expect(await node.exec(pod, sizeScript('online'))).toBe('16384\n');

    growing.setFaults({
      method: 'NodeExpandVolume',
      volume: 'online',
      code: 'INTERNAL',
      message: 'not now',
    });
    requestExpansion(node.cluster, 'online', '32Mi');
    requestExpansion(node.cluster, 'legacy', '24Mi', { recovery: false });
    // More than the driver can make of it.
    requestExpansion(node.cluster, 'huge', '2Gi');
    const failed = await untilClaim('online', 'to have failed', ({ conditions = [] }) =>
      conditions.some(({ type }) => type === 'NodeResizeError'),
    );
    expect(failed.allocatedResourceStatuses).toEqual({ storage: 'NodeResizeInProgress' });
    expect(failed.conditions).toContainEqual(
      expect.objectContaining({
        type: 'NodeResizeError',
        status: 'True',
        message: expect.stringMatching(/^failed to expand pvc with .*not now$/),
      }),
    );
    growing.clearFaults();
    await node.untilEvent(
      'VolumeResizeFailed',
      'NodeExpandVolume.NodeExpandVolume failed for volume "online" : ',
    );
    const grown = await untilClaim(
      'online',
      'to have grown',
      ({ capacity }) => capacity?.['storage'] === '32Mi',
    );
    expect(grown.conditions ?? []).toEqual([]);
    expect(grown.allocatedResourceStatuses).toBeUndefined();
    expect(grown.allocatedResources).toEqual({ storage: '32Mi' });
    expect(await node.exec(pod, sizeScript('online'))).toBe('32768\n');
    const succeeded = `MountVolume.NodeExpandVolume succeeded for volume "online" ${node.cluster.nodeName}`;
    for (const object of ['grown', 'online'])
      await waitFor(
        () => node.messages('FileSystemResizeSuccessful', object).includes(succeeded),
        `an event of ${object}`,
      );
    const [request] = growing.requests('NodeExpandVolume', 'online');
    expect(request).toMatchObject({
      volumePath: join(node.volumeDir(pod, 'online'), 'mount'),
      stagingTargetPath: join(node.stagingDir('online', growing.name), 'globalmount'),
      capacityRange: { requiredBytes: String(32 * mebibyte), limitBytes: '0' },
      secrets: { word: 'let-it-grow' },
      volumeCapability: { mount: { mountFlags: [] }, accessMode: { mode: 1 } },
    });
    await untilClaim('legacy', 'to have grown', ({ capacity }) => capacity?.['storage'] === '24Mi');
    expect(await node.exec(pod, sizeScript('legacy'))).toBe('24576\n');

    const infeasible = await untilClaim(
      'huge',
      'to be infeasible',
      ({ allocatedResourceStatuses: statuses }) => statuses?.['storage'] === 'NodeResizeInfeasible',
    );
    expect(infeasible.capacity).toEqual({ storage: '16Mi' });
    // It is not retried until the user requests another size.
    const tries = growing.requests('NodeExpandVolume', 'huge').length;
    expect(tries).toBe(1);
    expect(await node.exec(pod, `${sizeScript('huge')}; echo x > /huge/file`)).toBe('16384\n');
    expect(growing.calls('NodeUnpublishVolume')).toEqual([]);
    await node.end('grown');
    await node.untilNoLeftovers();
    expect(growing.requests('NodeExpandVolume', 'huge')).toHaveLength(tries);
    expect(node.kubelet.log.lines().join('\n')).not.toContain('let-it-grow');
  });

  test('a volume grows before its containers start; one that is used read-only does not', async () => {
    for (const name of ['offline', 'fixed']) {
      node.claim({
        name,
        driver: growing.name,
        size: '16Mi',
        csi: { volumeAttributes: { size: String(16 * mebibyte) } },
      });
      requestExpansion(node.cluster, name, '32Mi');
    }
    growing.setFaults({
      method: 'NodeExpandVolume',
      volume: 'offline',
      code: 'INTERNAL',
      message: 'asleep',
      times: 1,
    });
    node.createWith('offline', ['offline'], {
      script: `${sizeScript('offline')} > /offline/size; trap 'exit 0' TERM; sleep 1000000 & wait`,
    });
    node.createWith('fixed', [
      { name: 'fixed', persistentVolumeClaim: { claimName: 'fixed', readOnly: true } },
    ]);
    const [offline] = await Promise.all(['offline', 'fixed'].map((name) => node.cluster.untilReady(name)));
    if (offline === undefined) throw new Error('no pod');
    expect(await node.exec(offline, 'cat /offline/size')).toBe('32768\n');
    await node.untilEvent(
      'FailedMount',
      'MountVolume.Setup failed while expanding volume for volume "offline" : ',
    );
    const { status } = claimOf('offline') ?? {};
    expect(status).toMatchObject({ capacity: { storage: '32Mi' } });
    expect(status?.conditions ?? []).toEqual([]);
    await node.untilEvent(
      'FileSystemResizeFailed',
      'MountVolume.NodeExpandVolume failed for volume "fixed" requested read-only file system',
    );
    expect(growing.requests('NodeExpandVolume', 'fixed')).toEqual([]);
    expect(claimOf('fixed')?.status?.capacity).toEqual({ storage: '16Mi' });
    await node.end('offline', 'fixed');
    await node.untilNoLeftovers();
  });

  test('a driver without expansion on nodes leaves the size to its controller', async () => {
    const plain = await node.driver({ name: 'plain.example.com', capabilities: ['stage'] });
    node.claim({ name: 'plain', driver: plain.name, size: '16Mi' });
    requestExpansion(node.cluster, 'plain', '32Mi', { recovery: false });
    node.createWith('plain', ['plain']);
    await node.cluster.untilReady('plain');
    expect(plain.calls('NodeExpandVolume')).toEqual([]);
    await node.end('plain');
    await node.untilNoLeftovers();
  });

  test('no two calls for one volume were made at the same time', () => {
    expect(node.drivers.flatMap((driver) => driver.overlaps())).toEqual([]);
  });
});
