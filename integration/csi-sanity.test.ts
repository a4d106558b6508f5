// The node part of the CSI sanity checks, on the driver that the other tests of CSI rely on: a driver that is not strict would
// hide a kubelet's mistakes. Real mounts and loop devices; neither a kubelet nor containerd.
// Facts: the node service of the CSI specification, and pkg/sanity/node.go of kubernetes-csi/csi-test.
import { existsSync, lstatSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  type GetPluginInfoResponse,
  VolumeCapability_AccessMode_Mode as Mode,
  type NodeExpandVolumeResponse,
  type NodeGetCapabilitiesResponse,
  type NodeGetInfoResponse,
  type NodeGetVolumeStatsResponse,
  type ProbeResponse,
} from '../src/api/csi/generated/csi/v1/csi.ts';
import type { PluginInfo } from '../src/api/kubelet/generated/pluginregistration/v1/api.ts';
import { onlineResizeUnavailableReason } from '../test/csi-driver/kinds/images.ts';
import { markerName } from '../test/csi-driver/kinds/volume-kind.ts';
import { volumeKinds } from '../test/csi-driver/options.ts';
import { loopDevicesOf, mountsBelow } from './rig/mounts.ts';
import { mustRun } from './rig/process.ts';
import { type CsiClient, capabilityOf, codeOf } from './support/csi-client.ts';
import type { CsiDriver } from './support/csi-driver.ts';
import { describeOnMounts, useDriver } from './support/suite-driver.ts';

const MiB = 1024n ** 2n;
const resizeUnavailable = onlineResizeUnavailableReason();

describeOnMounts('CSI sanity', () => {
  let driver: CsiDriver;
  let client: CsiClient;
  const start = useDriver((started) => ({ driver, client } = started));
  const path = (...parts: readonly string[]): string => join(driver.dir, ...parts);

  test('registers and identifies itself', async () => {
    const topology = { 'topology.test/zone': 'a', 'topology.test/rack': 'r=1' };
    await start({ nodeId: 'id-of-node', maxVolumes: 7, topology });
    expect(await client.registration<PluginInfo>('getInfo')).toEqual({
      type: 'CSIPlugin',
      name: driver.name,
      endpoint: driver.sockets.endpoint,
      supportedVersions: ['1.11.0'],
    });
    await client.registration('notifyRegistrationStatus', { pluginRegistered: true, error: '' });
    await driver.waitRegistered();
    expect(await client.identity<GetPluginInfoResponse>('getPluginInfo')).toMatchObject({
      name: driver.name,
    });
    expect(await client.identity<ProbeResponse>('probe')).toEqual({ ready: { value: true } });
    expect(await client.node<NodeGetInfoResponse>('nodeGetInfo')).toEqual({
      nodeId: 'id-of-node',
      maxVolumesPerNode: 7n,
      accessibleTopology: { segments: topology },
    });
  });

  test('calls without their capability are not implemented', async () => {
    await start({ capabilities: [] });
    const found = await client.node<NodeGetCapabilitiesResponse>('nodeGetCapabilities');
    expect(found.capabilities).toEqual([]);
    for (const method of [
      'nodeStageVolume',
      'nodeUnstageVolume',
      'nodeExpandVolume',
      'nodeGetVolumeStats',
    ] as const)
      expect(await codeOf(client.node(method))).toBe('UNIMPLEMENTED');
  });

  test('every capability that is selected is reported', async () => {
    await start({
      capabilities: ['stage', 'stats', 'expand', 'volume-mount-group', 'single-node-multi-writer'],
    });
    const found = await client.node<NodeGetCapabilitiesResponse>('nodeGetCapabilities');
    expect(found.capabilities.map(({ rpc }) => rpc?.type)).toEqual([1, 2, 3, 6, 5]);
  });

  const volumeCapability = capabilityOf('directory');
  const stagingTargetPath = '/nonexistent/staging';
  const targetPath = '/nonexistent/target';
  const volumePath = '/nonexistent/path';
  const invalid = [
    ['nodeStageVolume', 'volume_id', { stagingTargetPath, volumeCapability }],
    ['nodeStageVolume', 'staging_target_path', { volumeId: 'v', volumeCapability }],
    ['nodeStageVolume', 'volume_capability', { volumeId: 'v', stagingTargetPath }],
    ['nodeUnstageVolume', 'volume_id', { stagingTargetPath }],
    ['nodeUnstageVolume', 'staging_target_path', { volumeId: 'v' }],
    ['nodePublishVolume', 'volume_id', { targetPath, volumeCapability }],
    ['nodePublishVolume', 'target_path', { volumeId: 'v', volumeCapability }],
    ['nodePublishVolume', 'volume_capability', { volumeId: 'v', targetPath }],
    ['nodeUnpublishVolume', 'volume_id', { targetPath }],
    ['nodeUnpublishVolume', 'target_path', { volumeId: 'v' }],
    ['nodeGetVolumeStats', 'volume_id', { volumePath }],
    ['nodeGetVolumeStats', 'volume_path', { volumeId: 'v' }],
    ['nodeExpandVolume', 'volume_id', { volumePath }],
    ['nodeExpandVolume', 'volume_path', { volumeId: 'v' }],
  ] as const;
  const missing = [
    ['nodeStageVolume', { stagingTargetPath, volumeCapability }],
    ['nodeUnstageVolume', { stagingTargetPath }],
    ['nodePublishVolume', { targetPath, stagingTargetPath, volumeCapability }],
    ['nodeUnpublishVolume', { targetPath }],
    ['nodeGetVolumeStats', { volumePath }],
    ['nodeExpandVolume', { volumePath }],
  ] as const;

  test('requests without a required field are invalid, and volumes that do not exist are not found', async () => {
    await start();
    for (const [method, field, request] of invalid)
      expect([method, field, await codeOf(client.node(method, request))]).toEqual([
        method,
        field,
        'INVALID_ARGUMENT',
      ]);
    for (const [method, request] of missing) {
      const call = client.node(method, { volumeId: 'missing-1', ...request });
      expect([method, await codeOf(call)]).toEqual([method, 'NOT_FOUND']);
    }
    expect(driver.volumes()).toEqual([]);
  });

  describe.each(volumeKinds)('a volume of kind %s', (kind) => {
    const volumeId = `${kind}-one`;
    const volume = { volumeId, volumeCapability: capabilityOf(kind) };
    const staging = (): string => path('staging');
    const target = (name = 'target'): string => path('pod', name);
    const publish = (over: object = {}): Promise<void> =>
      client.publish({ ...volume, targetPath: target(), stagingTargetPath: staging(), ...over });
    const unpublish = (name?: string): Promise<unknown> =>
      client.node('nodeUnpublishVolume', { volumeId, targetPath: target(name) });
    const unstage = (): Promise<unknown> =>
      client.node('nodeUnstageVolume', { volumeId, stagingTargetPath: staging() });
    const mounted = (): readonly string[] =>
      driver.mounts().map(({ path: at }) => at.slice(driver.dir.length + 1));
    const stagedMounts = kind === 'block' ? [] : ['staging'];
    /** What is left when nothing is staged: the contents of a tmpfs are a mount. */
    const contents = (): readonly string[] =>
      kind === 'tmpfs' ? [join(driver.volumeDir(volumeId), 'fs')] : [];
    const write = (name: string, text: string): void =>
      kind === 'block'
        ? writeFileSync(target(name), text, { flag: 'r+' })
        : writeFileSync(join(target(name), 'file'), text);
    const read = (name: string, length: number): string =>
      String(readFileSync(kind === 'block' ? target(name) : join(target(name), 'file')).subarray(0, length));

    test('is staged, published, unpublished and unstaged, each step twice, and is mounted once', async () => {
      await start();
      for (let times = 0; times < 2; times++) await client.stage({ ...volume, stagingTargetPath: staging() });
      expect(mounted()).toEqual(stagedMounts);
      for (let times = 0; times < 2; times++) await publish();
      expect(mounted()).toEqual([...stagedMounts, 'pod/target']);
      expect(driver.mounts().map(({ count }) => count)).toEqual(mounted().map(() => 1));
      expect(driver.mountCount(volumeId, target())).toBe(1);
      expect(lstatSync(target()).isBlockDevice()).toBe(kind === 'block');
      const marker = kind === 'block' ? target() : join(target(), markerName);
      expect(String(readFileSync(marker).subarray(0, 64))).toContain(volumeId);
      for (let times = 0; times < 2; times++) {
        await unpublish();
        expect(existsSync(target())).toBe(false);
      }
      expect(mounted()).toEqual(stagedMounts);
      for (let times = 0; times < 2; times++) await unstage();
      expect(mountsBelow(driver.dir)).toEqual(contents());
      expect(loopDevicesOf(driver.dir)).toEqual([]);
      expect(driver.violations()).toEqual([]);
    });

    test('is published at two paths with the same contents, one of them read-only, and keeps them', async () => {
      await start();
      await client.stage({ ...volume, stagingTargetPath: staging() });
      await publish();
      await publish({ targetPath: target('second'), readonly: true });
      write('target', 'kept');
      // A device has the pages of its own node; the file is on the node of its mount.
      if (kind === 'block') await mustRun('sync', [target()]);
      expect(read('second', 4)).toBe('kept');
      if (kind !== 'block') expect(() => write('second', 'x')).toThrow(/EROFS/);
      await unpublish();
      await unpublish('second');
      await unstage();
      await client.stage({ ...volume, stagingTargetPath: staging() });
      await publish();
      expect(read('target', 4)).toBe('kept');
    });

    test('is published without staging if the driver does not stage', async () => {
      await start({ capabilities: ['stats', 'expand'] });
      await publish({ stagingTargetPath: '' });
      await publish({ stagingTargetPath: '' });
      await publish({ stagingTargetPath: '', targetPath: target('second') });
      expect(mounted()).toEqual(['pod/target', 'pod/second']);
      await unpublish();
      await unpublish('second');
      await unpublish();
      expect(mountsBelow(driver.dir)).toEqual(contents());
      expect(loopDevicesOf(driver.dir)).toEqual([]);
    });

    test('rejects calls that contradict its state', async () => {
      await start({ capabilities: ['stage', 'single-node-multi-writer'] });
      expect(await codeOf(publish())).toBe('FAILED_PRECONDITION');
      await client.stage({ ...volume, stagingTargetPath: staging() });
      expect(await codeOf(publish({ stagingTargetPath: '' }))).toBe('FAILED_PRECONDITION');
      const other = capabilityOf(kind, Mode.SINGLE_NODE_SINGLE_WRITER);
      expect(
        await codeOf(client.stage({ volumeId, volumeCapability: other, stagingTargetPath: staging() })),
      ).toBe('ALREADY_EXISTS');
      expect(await codeOf(client.stage({ ...volume, stagingTargetPath: path('staging-2') }))).toBe(
        'FAILED_PRECONDITION',
      );
      await publish({ volumeCapability: other });
      expect(await codeOf(publish({ volumeCapability: other, readonly: true }))).toBe('ALREADY_EXISTS');
      expect(await codeOf(publish({ volumeCapability: other, targetPath: target('second') }))).toBe(
        'FAILED_PRECONDITION',
      );
      expect(await codeOf(unstage())).toBe('FAILED_PRECONDITION');
      const wrong = capabilityOf(kind === 'block' ? 'directory' : 'block');
      expect(await codeOf(publish({ volumeCapability: wrong }))).toBe('INVALID_ARGUMENT');
      expect(driver.violations()).toHaveLength(5);
    });

    test('reports its usage where it is published, and nowhere else', async () => {
      await start();
      await client.stage({ ...volume, stagingTargetPath: staging() });
      await publish();
      const { usage } = await client.node<NodeGetVolumeStatsResponse>('nodeGetVolumeStats', {
        volumeId,
        volumePath: target(),
      });
      expect(usage.map(({ unit }) => unit)).toEqual(kind === 'block' ? [1] : [1, 2]);
      // The file system itself takes a part of the device.
      expect(usage[0]?.total).toBeGreaterThan(25n * MiB);
      expect(usage[0]?.total).toBeLessThanOrEqual(32n * MiB);
      const unused = { volumeId, volumePath: path('nowhere') };
      expect(await codeOf(client.node('nodeGetVolumeStats', unused))).toBe('NOT_FOUND');
    });

    const cannotGrow = kind === 'ext4' ? resizeUnavailable : undefined;
    test.skipIf(cannotGrow !== undefined)(
      `grows while it is published${cannotGrow === undefined ? '' : ` (skipped: ${cannotGrow})`}`,
      async () => {
        await start();
        await client.stage({ ...volume, stagingTargetPath: staging() });
        await publish();
        const expand = (over: object): Promise<NodeExpandVolumeResponse> =>
          client.node('nodeExpandVolume', { volumeId, volumePath: target(), ...over });
        const requiredBytes = 64n * MiB;
        for (let times = 0; times < 2; times++)
          expect(await expand({ capacityRange: { requiredBytes } })).toEqual({
            capacityBytes: requiredBytes,
          });
        const { usage } = await client.node<NodeGetVolumeStatsResponse>('nodeGetVolumeStats', {
          volumeId,
          volumePath: target(),
        });
        expect(usage[0]?.total).toBeGreaterThan(55n * MiB);
        expect(await expand({ capacityRange: { requiredBytes: MiB } })).toEqual({
          capacityBytes: requiredBytes,
        });
        expect(await codeOf(expand({ capacityRange: { requiredBytes: 1024n ** 4n } }))).toBe('OUT_OF_RANGE');
        expect(await codeOf(expand({ volumePath: path('nowhere') }))).toBe('NOT_FOUND');
      },
    );

    test('is found by the next process after a kill at any step', async () => {
      await start();
      const steps: readonly (readonly [string, () => Promise<unknown>])[] = [
        ['NodeStageVolume', () => client.stage({ ...volume, stagingTargetPath: staging() })],
        ['NodePublishVolume', () => publish()],
        ['NodeUnpublishVolume', () => unpublish()],
        ['NodeUnstageVolume', () => unstage()],
      ];
      for (const [method, step] of steps) {
        for (const when of ['before', 'after'] as const) {
          driver.setFaults({ method, when, die: true, times: 1 });
          expect(await codeOf(step())).toBe('UNAVAILABLE');
          await driver.untilExit();
          await driver.start();
        }
        await step();
      }
      expect(mountsBelow(driver.dir)).toEqual(contents());
      expect(loopDevicesOf(driver.dir)).toEqual([]);
      expect(driver.mountCount(volumeId, target())).toBe(1);
      expect(driver.violations()).toEqual([]);
    });
  });
});
