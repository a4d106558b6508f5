// CSI volumes in real containers, with the driver of the tests: every kind, sharing, how pods use claims, what is on disk, usage.
// What drivers are given is in csi-requests.test.ts, attached and growing volumes in csi-attach.test.ts, drivers in csi-drivers.test.ts.
import { existsSync, lstatSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Pod, Volume } from '../src/api/k8s/types.ts';
import { mountsAt } from '../test/csi-driver/host.ts';
import { waitFor } from './rig/wait.ts';
import type { CsiDriver } from './support/csi-driver.ts';
import { testDriver } from './support/csi-driver.ts';
import { type CsiNode, describeOnCsiNode, useCsiNode } from './support/csi-node.ts';
import { attachmentName, claimVolume } from './support/csi-objects.ts';
import { container, exitsOnTerm } from './support/manifest.ts';

describeOnCsiNode('CSI volumes', () => {
  let node: CsiNode;
  let main: CsiDriver;

  useCsiNode(
    async (started) => {
      node = started;
      main = await node.driver();
    },
    () => ({ config: { volumeStatsAggPeriod: '2s' } }),
  );

  const attachmentOf = (handle: string, driver = testDriver): string =>
    attachmentName(handle, driver, node.cluster.nodeName);

  test('each kind of volume is written and read; two pods share a volume that is staged once and unstaged after the last', async () => {
    for (const kind of ['directory', 'ext4', 'tmpfs'] as const) node.claim({ name: `${kind}-1` });
    node.claim({ name: 'block-1', volumeMode: 'Block' });
    const mounted = ['directory-1', 'ext4-1', 'tmpfs-1'];
    const volumes = [...mounted, 'block-1'].map((name) => claimVolume(name));
    const volumeMounts = mounted.map((name) => ({ name, mountPath: `/${name}` }));
    const volumeDevices = [{ name: 'block-1', devicePath: '/dev/xvda' }];
    node.create('all', {
      volumes,
      containers: [container('main', exitsOnTerm, { volumeMounts, volumeDevices })],
    });
    const all = await node.cluster.untilReady('all');
    for (const name of mounted) {
      expect(await node.exec(all, `echo written > /${name}/file; cat /${name}/csi-volume.json`)).toContain(
        `"handle":"${name}"`,
      );
      expect(node.volData(node.stagingDir(name))).toEqual({ driverName: testDriver, volumeHandle: name });
      expect(node.volData(node.volumeDir(all, name))).toEqual({
        attachmentID: attachmentOf(name),
        driverName: testDriver,
        nodeName: node.cluster.nodeName,
        specVolID: name,
        volumeHandle: name,
        volumeLifecycleMode: 'Persistent',
      });
      expect(main.requests('NodeStageVolume', name)[0]?.stagingTargetPath).toBe(
        join(node.stagingDir(name), 'globalmount'),
      );
      expect(main.requests('NodePublishVolume', name)[0]).toMatchObject({
        stagingTargetPath: join(node.stagingDir(name), 'globalmount'),
        targetPath: join(node.volumeDir(all, name), 'mount'),
        readonly: false,
      });
    }
    expect(await node.exec(all, 'head -n 1 /dev/xvda; [ -b /dev/xvda ] && echo device')).toBe(
      '{"handle":"block-1","kind":"block"}\ndevice\n',
    );
    await node.exec(all, 'echo raw | dd of=/dev/xvda bs=512 seek=8 conv=sync,fsync 2>/dev/null');
    expectBlockLayout(all, 'block-1');

    node.createWith('peer', ['directory-1', 'ext4-1']);
    const peer = await node.cluster.untilReady('peer');
    expect(await node.exec(peer, 'cat /directory-1/file /ext4-1/file')).toBe('written\nwritten\n');
    expect(main.mountCount('ext4-1', join(node.stagingDir('ext4-1'), 'globalmount'))).toBe(1);
    await node.end('all');
    await waitFor(() => !existsSync(node.stagingDir('tmpfs-1')), 'the unshared volume to be unstaged');
    expect(await node.exec(peer, 'cat /directory-1/file /ext4-1/file')).toBe('written\nwritten\n');
    expect(main.requests('NodeUnstageVolume', 'ext4-1')).toEqual([]);
    await node.end('peer');
    await node.untilNoLeftovers();
    for (const name of mounted) expect(main.requests('NodeStageVolume', name)).toHaveLength(1);
    // What was written is kept by the driver.
    expect(readFileSync(join(main.volumeDir('directory-1'), 'fs/file'), 'utf8')).toBe('written\n');
    expect(
      readFileSync(join(main.volumeDir('block-1'), 'image'))
        .subarray(4096, 4100)
        .toString(),
    ).toBe('raw\n');
  });

  /** The files of a block volume are where upstream has them. */
  function expectBlockLayout(pod: Pod, name: string): void {
    const uid = pod.metadata?.uid ?? '';
    const mapped = join(node.blockDir, name, 'dev', uid);
    expect(main.requests('NodeStageVolume', name)[0]?.stagingTargetPath).toBe(
      join(node.blockDir, 'staging', name),
    );
    expect(main.requests('NodePublishVolume', name)[0]).toMatchObject({
      stagingTargetPath: join(node.blockDir, 'staging', name),
      targetPath: join(node.blockDir, 'publish', name, uid),
      volumeCapability: { block: {} },
    });
    expect(node.volData(join(node.blockDir, name, 'data'))).toEqual({
      attachmentID: attachmentOf(name),
      driverName: testDriver,
      nodeName: node.cluster.nodeName,
      specVolID: name,
      volumeHandle: name,
    });
    expect(mountsAt(mapped)).toHaveLength(1);
    expect(lstatSync(node.deviceLink(pod, name)).isSymbolicLink()).toBe(true);
    // Readlink, as the runtime resolves it.
    expect(readlinkSync(node.deviceLink(pod, name))).not.toBe('');
    expect(node.messages('SuccessfulMountVolume', pod.metadata?.name)).toEqual([
      `MapVolume.MapPodDevice succeeded for volume "${name}" globalMapPath "${join(node.blockDir, name, 'dev')}"`,
      `MapVolume.MapPodDevice succeeded for volume "${name}" volumeMapPath "${join(node.deviceLink(pod, name), '..')}"`,
    ]);
  }

  test('a claim is used read-only, with mount options, by sub-paths, and under two names', async () => {
    node.claim({ name: 'used', volume: { mountOptions: ['noexec', 'nosuid'] } });
    node.claim({ name: 'ext4-kept', csi: { fsType: 'ext4' }, accessModes: ['ReadWriteMany'] });
    const twice: Volume[] = [
      claimVolume('one', 'used'),
      claimVolume('two', 'used'),
      { name: 'kept', persistentVolumeClaim: { claimName: 'ext4-kept', readOnly: true } },
    ];
    node.create('user', {
      volumes: twice,
      containers: [
        container('main', exitsOnTerm, {
          volumeMounts: [
            { name: 'one', mountPath: '/one' },
            { name: 'two', mountPath: '/two' },
            { name: 'one', mountPath: '/part', subPath: 'a/b' },
            { name: 'two', mountPath: '/by-name', subPathExpr: '$(WHICH)' },
            { name: 'one', mountPath: '/limited', readOnly: true },
            { name: 'kept', mountPath: '/kept' },
          ],
          env: [{ name: 'WHICH', value: 'c' }],
        }),
      ],
    });
    const pod = await node.cluster.untilReady('user');
    expect(
      await node.exec(
        pod,
        'echo 1 > /one/file; echo 2 > /part/file; echo 3 > /by-name/file; cat /two/file /two/a/b/file /two/c/file',
      ),
    ).toBe('1\n2\n3\n');
    expect(
      await node.exec(
        pod,
        'for d in /limited /kept; do touch $d/x 2>/dev/null && echo written || echo refused; done; cat /limited/file',
      ),
    ).toBe('refused\nrefused\n1\n');
    expect(
      await node.exec(pod, 'echo "echo ran" > /one/run; chmod 755 /one/run; /one/run 2>/dev/null || echo no'),
    ).toBe('no\n');
    expect(main.requests('NodePublishVolume', 'used')[0]?.volumeCapability?.mount).toMatchObject({
      mountFlags: ['noexec', 'nosuid'],
    });
    expect(main.requests('NodeStageVolume', 'used')[0]?.volumeCapability?.mount).toMatchObject({
      mountFlags: ['noexec', 'nosuid'],
    });
    expect(main.requests('NodePublishVolume', 'ext4-kept')[0]).toMatchObject({
      readonly: true,
      volumeCapability: { mount: { fsType: 'ext4', mountFlags: [] } },
    });
    const target = join(node.volumeDir(pod, 'used'), 'mount');
    expect(main.mountCount('used', target)).toBe(1);
    await node.end('user');
    await node.untilNoLeftovers();
  });

  test('generic ephemeral volumes belong to their pod; an inline volume needs a driver that supports it', async () => {
    const ephemeral: Volume = {
      name: 'scratch',
      ephemeral: {
        volumeClaimTemplate: {
          spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Mi' } } },
        },
      },
    };
    const owner = node.createWith('owner', [ephemeral]);
    node.claim({ name: 'owner-scratch' });
    node.createWith('unlucky', [{ ...ephemeral, name: 'plain' }]);
    node.claim({ name: 'unlucky-plain' });
    node.createWith('inline', [{ name: 'inline', csi: { driver: testDriver } }]);
    await node.untilEvent(
      'FailedMount',
      'PVC default/unlucky-plain was not created for pod default/unlucky (pod is not owner)',
    );
    await node.untilEvent(
      'FailedMount',
      `volume mode "Ephemeral" not supported by driver ${testDriver} (only supports ["Persistent"])`,
    );
    node.objects.patch('persistentvolumeclaims', 'default', 'owner-scratch', {
      metadata: {
        ownerReferences: [
          { apiVersion: 'v1', kind: 'Pod', name: 'owner', uid: owner.metadata?.uid ?? '', controller: true },
        ],
      },
    });
    const pod = await node.cluster.untilReady('owner');
    expect(await node.exec(pod, 'cat /scratch/csi-volume.json')).toContain('owner-scratch');
    await node.end('owner', 'unlucky', 'inline');
    await node.untilNoLeftovers();
  });

  test('a ReadWriteOncePod volume is refused to a second pod, and granted after the first has ended', async () => {
    node.claim({ name: 'lone', accessModes: ['ReadWriteOncePod'] });
    node.createWith('first', ['lone']);
    await node.cluster.untilReady('first');
    node.createWith('second', ['lone']);
    const why = 'volume uses the ReadWriteOncePod access mode and is already in use by another pod';
    await node.untilEvent('FailedMount', `MountVolume.SetUp failed for volume "lone" : ${why}`);
    await node.untilExplained('second', why);
    await node.end('first');
    await node.cluster.untilReady('second');
    await node.end('second');
    await node.untilNoLeftovers();
  });

  test('usage is in the summary and in metrics, by claim; calls and volumes are counted by driver', async () => {
    node.claim({ name: 'tmpfs-measured', size: '32Mi' });
    node.claim({ name: 'block-measured', volumeMode: 'Block' });
    const silent = await node.driver({ name: 'silent.example.com', capabilities: ['stage'] });
    node.claim({ name: 'unmeasured', driver: silent.name });
    node.create('measured', {
      volumes: ['tmpfs-measured', 'block-measured', 'unmeasured'].map((name) => claimVolume(name)),
      containers: [
        container('main', exitsOnTerm, {
          volumeMounts: ['tmpfs-measured', 'unmeasured'].map((name) => ({ name, mountPath: `/${name}` })),
          volumeDevices: [{ name: 'block-measured', devicePath: '/dev/xvda' }],
        }),
      ],
    });
    const pod = await node.cluster.untilReady('measured');
    await node.exec(pod, 'dd if=/dev/zero of=/tmpfs-measured/file bs=1M count=8 2>/dev/null');
    const volumesOf = async (): Promise<readonly Record<string, unknown>[]> => {
      const { text } = await node.kubelet.secure('/stats/summary');
      const { pods } = JSON.parse(text) as {
        readonly pods: readonly { podRef: { name: string }; volume?: readonly Record<string, unknown>[] }[];
      };
      return pods.find(({ podRef }) => podRef.name === 'measured')?.volume ?? [];
    };
    const measured = await waitFor(async () => {
      const volumes = await volumesOf();
      const found = volumes.find(({ name }) => name === 'tmpfs-measured');
      return Number(found?.['usedBytes'] ?? 0) >= 8 * 1024 ** 2 ? volumes : undefined;
    }, 'the volume to be measured');
    const claimRef = (name: string) => ({ name, namespace: 'default' });
    expect(measured).toContainEqual(
      expect.objectContaining({
        name: 'tmpfs-measured',
        capacityBytes: 32 * 1024 ** 2,
        inodes: expect.any(Number),
        pvcRef: claimRef('tmpfs-measured'),
      }),
    );
    expect(measured).toContainEqual(
      expect.objectContaining({ name: 'block-measured', pvcRef: claimRef('block-measured') }),
    );
    expect(measured.map(({ name }) => name)).not.toContain('unmeasured');
    const labels = '{namespace="default",persistentvolumeclaim="tmpfs-measured"}';
    expect(await node.metrics('kubelet_volume_stats_capacity_bytes')).toContainEqual(
      `kubelet_volume_stats_capacity_bytes${labels} ${32 * 1024 ** 2}`,
    );
    for (const name of ['available_bytes', 'used_bytes', 'inodes', 'inodes_free', 'inodes_used'])
      expect((await node.metrics(`kubelet_volume_stats_${name}{`)).join('\n')).toContain(labels);
    const calls = await node.metrics('csi_operations_seconds_count');
    for (const method of ['NodeStageVolume', 'NodePublishVolume', 'NodeGetVolumeStats'])
      expect(calls).toContainEqual(
        expect.stringMatching(
          `driver_name="${testDriver}",method_name="/csi.v1.Node/${method}",grpc_status_code="OK",migrated="false"`,
        ),
      );
    for (const state of ['actual_state_of_world', 'desired_state_of_world'])
      expect(await node.metrics('volume_manager_total_volumes')).toContainEqual(
        `volume_manager_total_volumes{plugin_name="kubernetes.io/csi:${testDriver}",state="${state}"} 2`,
      );
    await node.end('measured');
    await node.untilNoLeftovers();
    const operations = (await node.metrics('storage_operation_duration_seconds_count')).join('\n');
    for (const operation of [
      'volume_mount',
      'volume_unmount',
      'unmount_device',
      'map_volume',
      'unmap_volume',
      'unmap_device',
    ])
      expect(operations).toContain(
        `{volume_plugin="kubernetes.io/csi:${testDriver}",operation_name="${operation}",status="success",migrated="false"}`,
      );
  });

  test('no two calls for one volume were made at the same time', () => {
    expect(node.drivers.flatMap((driver) => driver.overlaps())).toEqual([]);
  });
});
