import { beforeEach, describe, expect, test } from 'vitest';
import { aPod } from '../../../test/builders/builders.ts';
import {
  admin,
  attachName,
  clean,
  IscsiNode,
  iqn,
  iscsiRequest,
  iscsiRoot,
  place,
  portal,
  second,
} from '../../../test/fakes/iscsi-node.ts';
import { isKind, KubeletError } from '../../base/errors.ts';

describe('iscsi', () => {
  let node: IscsiNode;
  beforeEach(() => {
    node = new IscsiNode();
  });

  describe('first mount', () => {
    test('runs discovery, log-in and scan, mounts the device once and binds it', async () => {
      const plugin = node.newPlugin();
      expect(await node.setUp(plugin)).toMatchObject({ readOnly: false, managed: true });
      const record = `-m discoverydb -t sendtargets -p ${portal} -I default`;
      const command = `-m node -p ${portal} -T ${iqn}`;
      expect(node.programs.lines).toEqual(
        [
          '-m iface -I default -o show',
          `${record} -o new`,
          `${record} --discover`,
          `${command} -I default -o update -n node.session.scan -v manual`,
          `${command} -I default --login`,
          `${command} -o update -n node.startup -v manual`,
        ].map(admin),
      );
      expect(node.devices.writes).toEqual(['0 0 0 > /sys/class/scsi_host/host1/scan']);
      expect(node.mountLines()).toEqual([
        `/dev/disk/by-path/ip-${portal}-iscsi-${iqn}-lun-0 on ${place}`,
        `${place} on /root/pods/uid-p/volumes/kubernetes.io~iscsi/v`,
      ]);
    });

    test('writes node.iscsi.json in the form of upstream', async () => {
      await node.setUp(node.newPlugin(), { portals: [second] });
      expect(node.host.ownFiles.get(`${place}/iscsi.json`)).toBe(
        `{"VolName":"v","Portals":["${portal}","${second}"],"Iqn":"${iqn}","Lun":"0","InitIface":"default","Iface":"default","InitiatorName":"","MetricsProvider":null}\n`,
      );
    });

    test('does nothing for a volume that is mounted', async () => {
      await node.setUp(node.newPlugin());
      const { length } = node.programs.lines;
      await node.setUp(node.newPlugin());
      expect([node.programs.lines.length, node.host.mounts.length]).toEqual([length, 2]);
    });

    test('applies the fsGroup unless the volume is read-only', async () => {
      const owner = { fsGroup: 7, onlyOnRootMismatch: false, user: undefined };
      await node.setUp(node.newPlugin(), {}, { owner });
      expect(node.host.owned).toMatchObject([{ fsGroup: 7, onlyOnRootMismatch: false }]);
      await node.setUp(node.newPlugin(), { lun: 1, readOnly: true }, { owner, pod: aPod({ name: 'q' }) });
      expect(node.host.owned).toHaveLength(1);
      expect(node.mountLines().at(-1)).toMatch(/,ro on /);
    });

    test('binds the mount for a second pod without a command, and leaves the fsGroup of the first alone', async () => {
      const plugin = node.newPlugin();
      const owner = { fsGroup: 7, onlyOnRootMismatch: false, user: undefined };
      await node.setUp(plugin, {}, { owner });
      const { length } = node.programs.lines;
      await node.setUp(plugin, {}, { pod: aPod({ name: 'q' }) });
      await node.setUp(plugin, {}, { owner });
      expect([node.programs.lines.length, node.host.mounts.length, node.host.owned.length]).toEqual([
        length,
        3,
        1,
      ]);
    });

    test('uses the session of another LUN, and logs out with the last one', async () => {
      const plugin = node.newPlugin();
      await node.setUp(plugin);
      node.programs.lines.length = 0;
      await node.setUp(plugin, { lun: 1 }, { pod: aPod({ name: 'q' }) });
      expect(node.programs.lines).toEqual([admin('-m iface -I default -o show')]);
      await node.cleanUp(plugin, 'uid-p', node.signal);
      expect(node.iscsi.sessions).toHaveLength(1);
      expect([...node.devices.links.keys()].filter((each) => each.endsWith('-lun-0'))).toEqual([]);
      await node.cleanUp(plugin, 'uid-q', node.signal);
      expect(node.remains()).toEqual(clean);
    });
  });

  describe('several portals', () => {
    test('logs in to all and mounts the multipath device', async () => {
      node.iscsi.multipath = true;
      await node.setUp(node.newPlugin(), { portals: [second, portal] });
      expect(node.iscsi.sessions.map((each) => each.portal)).toEqual([portal, second]);
      expect(node.mountLines()[0]).toBe(`/dev/dm-0 on ${place}`);
    });

    test('settles for one path after five rounds, and 10 s without a multipath device', async () => {
      node.iscsi.targets.delete(second);
      const startMs = node.clock.monotonic();
      await node.setUp(node.newPlugin(), { portals: [second] });
      expect(node.mountLines()[0]).toContain(`ip-${portal}-iscsi`);
      expect(node.clock.monotonic() - startMs).toBe(9_000);
      expect(
        node.programs.lines.filter((line) => line.includes(`-p ${second}`) && line.endsWith('--discover')),
      ).toHaveLength(5);
      expect(node.warnings).toEqual(['Attached iSCSI disk without some of its paths']);
    });

    test('settles for two of three paths after two rounds', async () => {
      node.iscsi.multipath = true;
      await node.setUp(node.newPlugin(), { portals: [second, '10.0.0.9:3260'] });
      const tries = node.programs.lines.filter(
        (line) => line.includes('-p 10.0.0.9') && line.endsWith('--discover'),
      );
      expect(tries).toHaveLength(2);
    });

    test('takes a logical volume on the disk for what it is', async () => {
      const plugin = node.newPlugin();
      const link = `/dev/disk/by-path/ip-${portal}-iscsi-${iqn}-lun-0`;
      node.devices.files.set('/sys/block/sda/holders/dm-7', '').set('/sys/block/dm-7/dm/uuid', 'LVM-x');
      await node.setUp(plugin);
      expect(node.mountLines()[0]).toBe(`${link} on ${place}`);
    });

    test('flushes the multipath device before it deletes the paths', async () => {
      node.iscsi.multipath = true;
      const plugin = node.newPlugin();
      await node.setUp(plugin, { portals: [second] });
      node.programs.lines.length = 0;
      await node.cleanUp(node.newPlugin(), 'uid-p', node.signal);
      expect(node.programs.lines).toEqual([
        `umount -- ${place}`,
        'multipath -f /dev/dm-0',
        ...[portal, second].flatMap((each) => [
          admin(`-m node -p ${each} -T ${iqn} --logout -I default`),
          admin(`-m node -p ${each} -T ${iqn} -o delete -I default`),
        ]),
      ]);
      expect(node.devices.writes.slice(-2)).toEqual([
        '1 > /sys/block/sda/device/delete',
        '1 > /sys/block/sdb/device/delete',
      ]);
      expect(node.remains()).toEqual(clean);
    });
  });

  describe('block volumes', () => {
    const block = { spec: { isBlock: true, directoryName: 'pv' } };
    const link = '/root/pods/uid-p/volumeDevices/kubernetes.io~iscsi/pv';
    const target = '/root/plugins/kubernetes.io~iscsi/volumeDevices/pv/uid-p';

    test('passes the device through, and finds it on disk', async () => {
      const plugin = node.newPlugin();
      const device = await node.clock.until(
        plugin.block?.setUp(iscsiRequest({}, block), node.signal) ?? Promise.resolve(''),
      );
      expect(device).toBe(`/dev/disk/by-path/ip-${portal}-iscsi-${iqn}-lun-0`);
      expect(node.host.mounts).toEqual([]);
      await node.host.mapDevice(device, { link, target });
      const volume = { uid: 'uid-p', directoryName: 'pv', path: link };
      expect(await node.newPlugin().nodeDevices?.keyOf(volume)).toBe(attachName);
      const refused: unknown = await node
        .newPlugin()
        .nodeDevices?.release(attachName, node.signal)
        .catch((err: unknown) => err);
      expect(isKind(refused, 'conflict')).toBe(true);
      node.host.links.delete(link);
      expect(await node.newPlugin().block?.findUnlinked?.('uid-p')).toEqual([]);
      node.host.entries.set('/root/plugins/kubernetes.io~iscsi/volumeDevices/pv', 'directory');
      expect(await node.newPlugin().block?.findUnlinked?.('uid-p')).toEqual(['pv']);
      await node.cleanUp(node.newPlugin(), 'uid-p', node.signal);
      expect(node.remains()).toEqual(clean);
    });

    test('removes the mapping that the Go kubelet left in the directory of the disk', async () => {
      await node.clock.until(
        node.newPlugin().block?.setUp(iscsiRequest({}, block), node.signal) ?? Promise.resolve(''),
      );
      const old = `${iscsiRoot}/volumeDevices/iface-default/${portal}-${iqn}-lun-0/uid-p`;
      node.host.mounts.push({ path: old, fsType: 'devtmpfs', options: '/dev/sda' });
      await node.cleanUp(node.newPlugin(), 'uid-p', node.signal);
      expect(node.remains()).toEqual(clean);
    });
  });

  describe('expansion', () => {
    test('lets the kernel read the size again and grows the file system', async () => {
      const plugin = node.newPlugin();
      await node.setUp(plugin);
      const { path, pod, spec } = iscsiRequest();
      const size = await plugin.expansion?.expand({ path, pod, spec, sizeBytes: 5n }, node.signal);
      expect([size, node.devices.writes.at(-1)]).toEqual([5n, '1 > /sys/block/sda/device/rescan']);
      expect(node.host.calls).toContain(`growFileSystem ${place}`);
    });

    test('resizes the multipath device, and reports its failure as final', async () => {
      node.iscsi.multipath = true;
      const plugin = node.newPlugin();
      await node.setUp(plugin, { portals: [second] });
      const { path, pod, spec } = iscsiRequest({ portals: [second] });
      await plugin.expansion?.expand({ path, pod, spec, sizeBytes: 5n }, node.signal);
      expect(node.programs.lines.at(-1)).toBe('multipathd resize map dm-0');
      node.programs.programs.set('multipathd', () => ({ code: 1, stdout: 'fail' }));
      const err: unknown = await plugin.expansion
        ?.expand({ path, pod, spec, sizeBytes: 5n }, node.signal)
        .catch((each: unknown) => each);
      expect(err instanceof KubeletError && err.details).toEqual({ expansion: 'final' });
    });
  });
});
