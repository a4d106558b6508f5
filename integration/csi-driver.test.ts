// The CSI driver of the tests and its wrapper: every fault on order happens as ordered, violations and mounts are recorded, and
// the leftovers of a killed test are removed. Neither a kubelet nor containerd.
import { existsSync, lstatSync, mkdirSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import type { NodeGetInfoResponse } from '../src/api/csi/generated/csi/v1/csi.ts';
import type { VolumeKind } from '../test/csi-driver/options.ts';
import { clearWorkspace, findLeftovers } from './rig/leftovers.ts';
import { mountsBelow } from './rig/mounts.ts';
import { identify, isAlive, mustRun } from './rig/process.ts';
import { claimWorkspace } from './rig/workspace.ts';
import { CsiClient, capabilityOf, codeOf } from './support/csi-client.ts';
import { CsiDriver } from './support/csi-driver.ts';
import { describeOnMounts, eventually, useDriver } from './support/suite-driver.ts';

describeOnMounts('the CSI driver of the tests', () => {
  let driver: CsiDriver;
  let client: CsiClient;
  const start = useDriver((started) => ({ driver, client } = started));
  const staging = (): string => join(driver.dir, 'staging');
  const target = (): string => join(driver.dir, 'pod', 'target');
  const stage = (volumeId = 'v', kind: VolumeKind = 'directory', over: object = {}): Promise<void> =>
    client.stage({ volumeId, volumeCapability: capabilityOf(kind), stagingTargetPath: staging(), ...over });
  const publish = (volumeId = 'v', kind: VolumeKind = 'directory'): Promise<void> =>
    client.publish({
      volumeId,
      volumeCapability: capabilityOf(kind),
      stagingTargetPath: staging(),
      targetPath: target(),
    });
  const unpublish = (volumeId = 'v'): Promise<unknown> =>
    client.node('nodeUnpublishVolume', { volumeId, targetPath: target() });

  test('fails so often as ordered, with or without having done the work', async () => {
    await start();
    driver.setFaults({ method: 'NodeStageVolume', code: 'RESOURCE_EXHAUSTED', times: 2 });
    expect([await codeOf(stage()), await codeOf(stage())]).toEqual([
      'RESOURCE_EXHAUSTED',
      'RESOURCE_EXHAUSTED',
    ]);
    expect(driver.mounts()).toEqual([]);
    await stage();
    driver.setFaults({ method: 'NodePublishVolume', volume: 'v', when: 'after', code: 'INTERNAL' });
    expect(await codeOf(publish())).toBe('INTERNAL');
    expect(driver.mounts()).toHaveLength(2);
    driver.setFaults({
      method: 'NodeUnpublishVolume',
      code: 'FAILED_PRECONDITION',
      message: 'busy',
      forMs: 300,
    });
    await expect(unpublish()).rejects.toThrow(/busy/);
    await eventually(() => codeOf(unpublish())).toBe('OK');
    expect(driver.calls('NodeStageVolume').map(({ code }) => code)).toEqual([
      'RESOURCE_EXHAUSTED',
      'RESOURCE_EXHAUSTED',
      'OK',
    ]);
  });

  test('hangs until released, and then works although the client has given up', async () => {
    await start();
    driver.setFaults({ method: 'NodeStageVolume', hang: true, times: 1 });
    mkdirSync(staging());
    const request = {
      volumeId: 'v',
      volumeCapability: capabilityOf('directory'),
      stagingTargetPath: staging(),
    };
    expect(await codeOf(client.node('nodeStageVolume', request, 300))).toBe('DEADLINE_EXCEEDED');
    await eventually(() => driver.calls('NodeStageVolume')[0]?.code).toBe('CANCELLED');
    expect(driver.mounts()).toEqual([]);
    driver.clearFaults();
    await eventually(() => driver.mounts().length).toBe(1);
    const [call] = driver.calls('NodeStageVolume');
    expect(call?.timeoutMs).toBeLessThanOrEqual(300);
    expect(call?.request).toMatchObject({ volumeId: 'v', stagingTargetPath: staging() });
  });

  test('answers late: the work is done long before the response', async () => {
    await start();
    driver.setFaults({ method: 'NodeStageVolume', when: 'after', hang: 400 });
    const staged = stage();
    await eventually(() => driver.mounts().length).toBe(1);
    expect(driver.calls('NodeStageVolume')[0]?.code).toBeUndefined();
    await staged;
    expect(driver.overlaps()).toEqual([]);
  });

  test('answers other fields, bytes that are no message, or the secrets of the request', async () => {
    await start({ nodeId: 'right' });
    driver.setFaults({ method: 'NodeGetInfo', answer: { nodeId: 'wrong', maxVolumesPerNode: '-5' } });
    expect(await client.node<NodeGetInfoResponse>('nodeGetInfo')).toMatchObject({
      nodeId: 'wrong',
      maxVolumesPerNode: -5n,
    });
    driver.setFaults({ method: 'GetInfo', garbage: true });
    expect(await codeOf(client.registration('getInfo'))).toBe('INTERNAL');
    driver.setFaults({ method: '*', code: 'INTERNAL', echoSecrets: true });
    await expect(stage('v', 'directory', { secrets: { password: 'sesame' } })).rejects.toThrow(/sesame/);
  });

  test('a target that is a symbolic link is removed, and not what it points to', async () => {
    await start();
    const outside = join(driver.dir, 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'file'), '');
    await stage();
    driver.setFaults({ method: 'NodePublishVolume', linkTarget: outside, times: 1 });
    await publish();
    expect(readlinkSync(target())).toBe(outside);
    await unpublish();
    expect(existsSync(target())).toBe(false);
    expect(readdirSync(outside)).toEqual(['file']);
    await publish();
    expect(lstatSync(target()).isDirectory()).toBe(true);
  });

  test('an upgrade in place serves on other sockets, with the volumes of the previous process', async () => {
    await start();
    await stage();
    const before = driver.sockets;
    const { pid } = driver;
    const old = identify(pid);
    const upgrade = driver.upgrade({ versions: ['1.12.0'] });
    // As the kubelet does when it finds the socket.
    await eventually(() => driver.sockets.endpoint !== before.endpoint).toBe(true);
    await client.registration('notifyRegistrationStatus', { pluginRegistered: true, error: '' });
    await upgrade;
    expect(old !== undefined && isAlive(old)).toBe(false);
    expect([existsSync(before.endpoint), existsSync(before.registration)]).toEqual([false, false]);
    await publish();
    expect(driver.mounts().map(({ role }) => role)).toEqual(['staging', 'publication']);
    expect(driver.mountCount('v', staging())).toBe(1);
  });

  test('a killed driver leaves its sockets, and a suspended one accepts and does not answer', async () => {
    await start();
    driver.pause();
    expect(await codeOf(client.node('nodeGetInfo', {}, 300))).toBe('DEADLINE_EXCEEDED');
    driver.resume();
    expect(await codeOf(client.node('nodeGetInfo'))).toBe('OK');
    await driver.kill9();
    expect(existsSync(driver.sockets.registration)).toBe(true);
    expect(await codeOf(client.node('nodeGetInfo', {}, 2_000))).toBe('UNAVAILABLE');
    await driver.start();
    await driver.stop();
    expect(existsSync(driver.sockets.registration)).toBe(false);
  });

  test('sockets that were removed are created again', async () => {
    await start();
    await mustRun('rm', [driver.sockets.registration]);
    await eventually(() => existsSync(driver.sockets.registration)).toBe(true);
    await eventually(() => codeOf(client.registration('getInfo'))).toBe('OK');
  });

  test('an inline volume is deleted when it is unpublished', async () => {
    await start();
    const volumeContext = { 'csi.storage.k8s.io/ephemeral': 'true', kind: 'ext4' };
    const request = { volumeId: 'inline', volumeCapability: capabilityOf('ext4'), targetPath: target() };
    await client.publish({ ...request, volumeContext });
    expect(driver.mounts()).toHaveLength(1);
    await unpublish('inline');
    await unpublish('inline');
    expect(driver.volumes()).toEqual([]);
    expect(mountsBelow(driver.dir)).toEqual([]);
    expect(driver.events().map(({ event }) => event)).toEqual(['create', 'mount', 'unmount', 'delete']);
  });

  test('a volume whose device is lost fails, and can be unpublished and unstaged', async () => {
    await start();
    await stage('ext4-v', 'ext4');
    await publish('ext4-v', 'ext4');
    await driver.loseDevice('ext4-v');
    const write = mustRun('dd', [
      'if=/dev/zero',
      `of=${join(target(), 'file')}`,
      'bs=4096',
      'count=64',
      'conv=fsync',
    ]);
    await expect(write).rejects.toThrow(/error|Read-only|No space/i);
    await unpublish('ext4-v');
    await client.node('nodeUnstageVolume', { volumeId: 'ext4-v', stagingTargetPath: staging() });
    expect(mountsBelow(driver.dir)).toEqual([]);
  });

  test('mounts on top of each other and overlapping calls are recorded', async () => {
    await start();
    await stage();
    await publish();
    await mustRun('mount', ['--bind', driver.volumeDir('v'), target()]);
    expect(driver.mounts().find(({ role }) => role === 'publication')?.count).toBe(2);
    await unpublish();
    expect(driver.violations()).toEqual([`v ${target()}: 2 mounts are on top of each other`]);
    driver.setFaults({ method: 'NodePublishVolume', hang: 300, times: 1 });
    await Promise.all([publish(), publish()]);
    expect(driver.overlaps()).toEqual(['v: NodePublishVolume, NodePublishVolume']);
    expect(driver.mountCount('v', target())).toBe(2);
  });

  test('what a killed test leaves behind is found and removed without the help of the driver', async () => {
    const workspace = claimWorkspace();
    const dead = new CsiDriver({ dir: workspace.dir, rootDir: join(workspace.dir, 'root') });
    await dead.start();
    const own = new CsiClient(dead);
    for (const kind of ['ext4', 'block', 'tmpfs'] as const) {
      const [volumeId, stagingTargetPath] = [`${kind}-v`, join(workspace.dir, 'staging', kind)];
      const request = { volumeId, volumeCapability: capabilityOf(kind), stagingTargetPath };
      await own.stage(request);
      await own.publish({ ...request, targetPath: join(workspace.dir, 'pods', kind) });
    }
    expect(mountsBelow(workspace.dir)).toHaveLength(6);
    // A kubelet holds a device in this way.
    const holder = (await mustRun('losetup', ['-f', '--show', join(workspace.dir, 'pods', 'block')])).trim();
    const traces = await clearWorkspace(workspace);
    expect(dead.running).toBe(false);
    expect(await findLeftovers(workspace, traces)).toEqual([]);
    expect(existsSync(join('/sys/block', basename(holder), 'loop'))).toBe(false);
  });
});
