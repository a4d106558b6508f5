import { beforeEach, describe, expect, test } from 'vitest';
import { aPod } from '../../../test/builders/builders.ts';
import { aSetUpRequest } from '../../../test/builders/volume-requests.ts';
import { type Death, DiskRig } from '../../../test/fakes/disk-rig.ts';
import type { FCVolumeSource } from '../../api/k8s/types.ts';
import { describeError, isKind, KubeletError } from '../../base/errors.ts';
import type { SetUpRequest, VolumePlugin } from '../plugin.ts';
import { fcPlugin } from './fc.ts';

const { signal } = new AbortController();
const [a, b] = ['500a0981891b8dc5', '500a0982991b8dc5'];
const wwid = '3600508b400105e210000900000490000';
const root = '/root/plugins/kubernetes.io/fc';
const byName: FCVolumeSource = { targetWWNs: [a ?? '', b ?? ''], lun: 2 };
const place = `${root}/${a}-${b}-lun-2`;

describe('fc', () => {
  let rig: DiskRig;
  beforeEach(() => {
    rig = new DiskRig();
    newNode();
  });

  /** A node whose adapters see the disk after a scan; disks disappear when they are deleted. */
  function newNode(): void {
    const { files, links } = rig.devices;
    files.set('/sys/class/fc_host/host3/port_state', 'Online');
    for (const host of [1, 3]) files.set(`/sys/class/scsi_host/host${host}/scan`, '');
    rig.devices.onWrite = (path) => {
      const disk = /^\/sys\/block\/(\w+)\/device\/delete$/.exec(path)?.[1];
      if (disk === undefined) return;
      for (const [link, target] of links) if (target === `/dev/${disk}`) links.delete(link);
      files.delete(path);
      files.delete(`/sys/block/dm-1/slaves/${disk}`);
    };
    rig.programs.programs.set('blockdev', () => undefined);
    rig.programs.programs.set('multipath', ([, map]) => {
      links.delete(map ?? '');
      for (const file of files.keys())
        if (file.startsWith('/sys/block/dm-1/') || file.endsWith('/holders/dm-1')) files.delete(file);
      return undefined;
    });
  }

  function addDisk(name: string, link: string): void {
    const { files, links } = rig.devices;
    links.set(`/dev/${name}`, `/dev/${name}`).set(link, `/dev/${name}`);
    for (const file of ['delete', 'rescan']) files.set(`/sys/block/${name}/device/${file}`, '');
  }

  function addPaths(multipath = false): void {
    addDisk('sdb', `/dev/disk/by-path/pci-0000:41:00.0-fc-0x${a}-lun-2`);
    addDisk('sdc', `/dev/disk/by-path/fc-0x${b}-lun-2`);
    if (!multipath) return;
    const { files, links } = rig.devices;
    for (const disk of ['sdb', 'sdc']) {
      files.set(`/sys/block/${disk}/holders/dm-1`, '');
      files.set(`/sys/block/dm-1/slaves/${disk}`, '');
    }
    files.set('/sys/block/dm-1/dm/uuid', 'mpath-x');
    links.set('/dev/dm-1', '/dev/dm-1');
  }

  const newPlugin = (death?: Death): VolumePlugin => fcPlugin(rig.deps(death));
  const request = (fc: FCVolumeSource, rest: Parameters<typeof aSetUpRequest>[2] = {}): SetUpRequest =>
    aSetUpRequest('fc', { fc }, rest);
  const setUp = async (plugin: VolumePlugin, ...args: Parameters<typeof request>): Promise<unknown> =>
    await rig.clock.until(plugin.setUp(request(...args), signal));
  const mounts = (): readonly string[] => rig.host.mounts.map(({ path, options }) => `${options} on ${path}`);
  const nothing = (): unknown => [
    rig.leftovers(root).filter((each) => each !== `${root}/volumeDevices`),
    [...rig.devices.links.keys()],
  ];
  const scans = (): readonly string[] => rig.devices.writes.filter((each) => each.startsWith('- - -'));

  describe('search', () => {
    test('finds a disk by WWN and LUN after one scan of the Fibre Channel hosts', async () => {
      addPaths();
      await setUp(newPlugin(), byName);
      expect(mounts()).toEqual([
        `/dev/sdb on ${place}`,
        `${place} on /root/pods/uid-p/volumes/kubernetes.io~fc/v`,
      ]);
      expect(scans()).toEqual(['- - - > /sys/class/scsi_host/host3/scan']);
    });

    test('prefers the multipath device, without a scan', async () => {
      addPaths(true);
      await setUp(newPlugin(), byName);
      expect([mounts()[0], scans()]).toEqual([`/dev/dm-1 on ${place}`, []]);
    });

    test('keeps the disk of the first WWN if the last one is not found', async () => {
      addDisk('sdb', `/dev/disk/by-path/fc-0x${a}-lun-2`);
      addDisk('sdz', `/dev/disk/by-path/fc-0x${b}-lun-20`);
      await setUp(newPlugin(), byName);
      expect(mounts()[0]).toBe(`/dev/sdb on ${place}`);
    });

    test('finds a disk by WWID, with blanks as udev writes them', async () => {
      addDisk('sdd', '/dev/disk/by-id/scsi-SQEMU_disk-1');
      await setUp(newPlugin(), { wwids: ['SQEMU disk-1'] });
      expect(mounts()[0]).toBe(`/dev/sdd on ${root}/SQEMU_disk-1`);
    });

    test('waits for the link that udev makes after the scan', async () => {
      const work = newPlugin().setUp(request({ wwids: [wwid] }), signal);
      await rig.clock.advance(2_500);
      addDisk('sdd', `/dev/disk/by-id/scsi-${wwid}`);
      await rig.clock.until(work);
      expect([mounts().length, scans().length]).toEqual([2, 1]);
    });

    test('fails if no disk is found', async () => {
      const err: unknown = await setUp(newPlugin(), byName).catch((each: unknown) => each);
      expect(describeError(err)).toBe('no fc disk found');
      expect(err instanceof KubeletError && err.details).toEqual({ step: 'WaitForAttach' });
    });

    test.each([
      ['nothing', {}],
      ['WWNs without LUN', { targetWWNs: [a ?? ''] }],
      ['a path', { wwids: ['../x'] }],
    ])('rejects a volume that names %s', async (_name, fc) => {
      const err: unknown = await setUp(newPlugin(), fc).catch((each: unknown) => each);
      expect([isKind(err, 'invalid'), rig.host.entries.size]).toEqual([true, 0]);
    });
  });

  describe('names', () => {
    const cases: readonly (readonly [string, FCVolumeSource, string, string])[] = [
      ['WWNs', byName, `[${a} ${b}]:2`, `/dev/disk/by-path/fc-0x${a}-lun-2`],
      ['LUN 0', { targetWWNs: [a ?? ''], lun: 0 }, `[${a}]:0`, `/dev/disk/by-path/fc-0x${a}-lun-0`],
      ['a WWID', { wwids: [wwid] }, `[${wwid}]`, `/dev/disk/by-id/scsi-${wwid}`],
      ['WWIDs with blanks and dashes', { wwids: ['S x-1', 'y'] }, '[S x-1 y]', '/dev/disk/by-id/scsi-y'],
      [
        'WWNs without LUN beside a WWID',
        { targetWWNs: ['1'], wwids: [wwid] },
        `[${wwid}]`,
        `/dev/disk/by-id/scsi-${wwid}`,
      ],
    ];
    for (const [what, fc, want, link] of cases)
      test(`finds the name of ${what} on disk`, async () => {
        addDisk('sdb', link);
        const plugin = newPlugin();
        await setUp(plugin, fc);
        const { path, spec } = request(fc);
        const name = `kubernetes.io/fc/${want}`;
        const found = await newPlugin().nodeDevices?.keyOf({ uid: 'uid-p', directoryName: 'v', path });
        expect([plugin.deviceKey(spec), found, await newPlugin().nodeDevices?.list()]).toEqual([
          name,
          name,
          [name],
        ]);
        await rig.cleanUp(newPlugin(), 'uid-p', signal);
        expect(nothing()).toEqual([[], []]);
      });

    test('a persistent volume is read-only as its claim is used', async () => {
      addPaths();
      const spec = { persistent: { spec: { fc: { ...byName, readOnly: true } } } };
      expect(await newPlugin().setUp(request({}, { spec }), signal)).toMatchObject({ readOnly: false });
    });
  });

  describe('release', () => {
    test('flushes and deletes all paths of the multipath device', async () => {
      addPaths(true);
      await setUp(newPlugin(), byName);
      await rig.cleanUp(newPlugin(), 'uid-p', signal);
      expect(rig.programs.lines).toEqual([
        `umount -- ${place}`,
        'multipath -f /dev/dm-1',
        'blockdev --flushbufs /dev/sdb',
        'blockdev --flushbufs /dev/sdc',
      ]);
      expect(nothing()).toEqual([[], []]);
    });

    test('is repeated after a multipath device was busy, although nothing is mounted any more', async () => {
      addPaths(true);
      await setUp(newPlugin(), byName);
      const flush = rig.programs.programs.get('multipath');
      rig.programs.programs.set('multipath', () => ({ code: 1, stdout: 'map in use\n' }));
      const err: unknown = await rig.cleanUp(newPlugin(), 'uid-p', signal).catch((each: unknown) => each);
      expect(describeError(err)).toContain(
        `fc: failed to detach disk: ${place} Error: failed to flush multipath device /dev/dm-1: exit status 1 map in use`,
      );
      if (flush !== undefined) rig.programs.programs.set('multipath', flush);
      await rig.cleanUp(newPlugin(), 'uid-p', signal);
      expect(nothing()).toEqual([[], []]);
    });

    test('names a missing multipath with the package to install', async () => {
      addPaths(true);
      await setUp(newPlugin(), byName);
      rig.programs.programs.delete('multipath');
      const err: unknown = await rig.cleanUp(newPlugin(), 'uid-p', signal).catch((each: unknown) => each);
      expect(describeError(err)).toContain(
        'multipath not found on the node: install the package multipath-tools (device-mapper-multipath)',
      );
    });

    test('deletes the disk although blockdev fails', async () => {
      addPaths();
      await setUp(newPlugin(), byName);
      rig.programs.programs.delete('blockdev');
      await rig.cleanUp(newPlugin(), 'uid-p', signal);
      expect([nothing(), rig.warnings]).toEqual([
        [[], []],
        ['Failed to flush device', 'Failed to flush device'],
      ]);
    });

    test('keeps a disk that another volume reaches through one of its WWNs', async () => {
      addPaths();
      const plugin = newPlugin();
      await setUp(plugin, byName);
      await setUp(plugin, { targetWWNs: [b ?? ''], lun: 2 }, { pod: aPod({ name: 'q' }) });
      await rig.cleanUp(plugin, 'uid-p', signal);
      expect([...rig.devices.links.keys()]).toHaveLength(4);
    });

    test('detaches what the Go kubelet attached, which keeps no record', async () => {
      addPaths();
      await setUp(newPlugin(), byName);
      for (const path of rig.host.ownFiles.keys()) await rig.host.removeOwnFile(path);
      await rig.cleanUp(newPlugin(), 'uid-p', signal);
      expect(nothing()).toEqual([[], []]);
    });

    test('a block device of the Go kubelet is found by the pod that maps it', async () => {
      const path = '/root/pods/uid-p/volumeDevices/kubernetes.io~fc/pv';
      rig.host.entries
        .set(`${root}/volumeDevices`, 'directory')
        .set(`${root}/volumeDevices/${wwid}`, 'directory');
      rig.host.mounts.push({
        path: `${root}/volumeDevices/${wwid}/uid-p`,
        fsType: 'devtmpfs',
        options: '/dev/sdb',
      });
      const volume = { uid: 'uid-p', directoryName: 'pv', path };
      expect(await newPlugin().nodeDevices?.keyOf(volume)).toBe(`kubernetes.io/fc/[${wwid}]`);
      await rig.cleanUp(newPlugin(), 'uid-p', signal);
      expect(nothing()).toEqual([[], []]);
    });
  });

  describe('block volumes', () => {
    test('passes the device through and grows it', async () => {
      addPaths();
      const plugin = newPlugin();
      const { path, pod, spec } = request(byName, { spec: { isBlock: true } });
      const owner = { fsGroup: 7, onlyOnRootMismatch: false, user: undefined };
      const set = { path, pod, spec, owner, isRemount: false };
      expect(await rig.clock.until(plugin.block?.setUp(set, signal) ?? Promise.resolve(''))).toBe('/dev/sdb');
      await plugin.expansion?.expand({ path, pod, spec, sizeBytes: 1n }, signal);
      expect(rig.devices.writes.slice(-2).map((each) => each.split(' ')[2])).toEqual([
        '/sys/block/sdb/device/rescan',
        '/sys/block/sdc/device/rescan',
      ]);
      await rig.cleanUp(newPlugin(), 'uid-p', signal);
      expect(nothing()).toEqual([[], []]);
    });
  });

  test('a killed kubelet leaves nothing that a later one does not clean up', async () => {
    for (let atCall = 1, died = true; died; atCall++)
      for (const after of [false, true]) {
        rig = new DiskRig();
        newNode();
        addPaths(true);
        const plugin = newPlugin({ atCall, after });
        const work = plugin.setUp(request(byName), signal).then(() => rig.cleanUp(plugin, 'uid-p', signal));
        died = await work.then(
          () => false,
          () => true,
        );
        await setUp(newPlugin(), byName).catch(() => undefined);
        await rig.cleanUp(newPlugin(), 'uid-p', signal);
        expect(rig.leftovers(root)).toEqual([]);
      }
  });
});
