import { beforeEach, describe, expect, test } from 'vitest';
import { aPod } from '../../../test/builders/builders.ts';
import {
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
import { describeError, isKind } from '../../base/errors.ts';

describe('iscsi: detaching', () => {
  let node: IscsiNode;
  beforeEach(() => {
    node = new IscsiNode();
  });

  describe('release', () => {
    test.each([2, 21])('takes exit code %i of the log-out for success', async (code) => {
      await node.setUp(node.newPlugin());
      node.iscsi.override = (line) =>
        line.includes('--logout') || line.includes('-o delete') ? { code } : undefined;
      await node.cleanUp(node.newPlugin(), 'uid-p', node.signal);
      expect(await node.newPlugin().nodeDevices?.list()).toEqual([]);
    });

    test('reports another exit code, and keeps the disk on record', async () => {
      await node.setUp(node.newPlugin());
      node.iscsi.override = (line) => (line.includes('--logout') ? { code: 9, stderr: 'bad' } : undefined);
      const err: unknown = await node
        .cleanUp(node.newPlugin(), 'uid-p', node.signal)
        .catch((each: unknown) => each);
      expect(describeError(err)).toContain(
        `iscsi: failed to detach disk: ${place} Error: failed to finish detachISCSIDisk, err: exit status 9 bad`,
      );
      expect(await node.newPlugin().nodeDevices?.list()).toEqual([attachName]);
    });

    test('reports a mount that is in use, and detaches nothing', async () => {
      await node.setUp(node.newPlugin());
      node.programs.programs.set('umount', () => ({ code: 32, stderr: 'target is busy.' }));
      await node.cleanUp(node.newPlugin(), 'uid-p', node.signal);
      expect([node.iscsi.sessions.length, node.host.mounts.length]).toEqual([1, 1]);
    });

    test('refuses while another pod has it mounted', async () => {
      await node.setUp(node.newPlugin());
      const err: unknown = await node
        .newPlugin()
        .nodeDevices?.release(attachName, node.signal)
        .catch((each: unknown) => each);
      expect([isKind(err, 'conflict'), node.host.mounts.length]).toEqual([true, 2]);
    });

    test('detaches what the Go kubelet attached, without its file as well', async () => {
      await node.setUp(node.newPlugin());
      node.host.mounts.length = 0;
      for (const path of node.host.ownFiles.keys()) await node.host.removeOwnFile(path);
      await node.cleanUp(node.newPlugin(), 'uid-p', node.signal);
      expect(node.remains()).toEqual(clean);
    });

    test('keeps the sessions that a volume with other first portal uses', async () => {
      const plugin = node.newPlugin();
      await node.setUp(plugin, { portals: [second] });
      await node.setUp(
        plugin,
        { targetPortal: second, portals: [portal], lun: 1 },
        { pod: aPod({ name: 'q' }) },
      );
      await node.cleanUp(plugin, 'uid-p', node.signal);
      expect(node.iscsi.sessions.map((each) => each.portal)).toEqual([portal, second]);
    });

    test('keeps the device of a LUN that another volume reaches through another portal', async () => {
      const plugin = node.newPlugin();
      await node.setUp(plugin);
      await node.setUp(plugin, { targetPortal: second }, { pod: aPod({ name: 'q' }) });
      await node.cleanUp(plugin, 'uid-p', node.signal);
      expect(node.devices.writes.filter((each) => each.includes('delete'))).toEqual([]);
      expect(node.iscsi.sessions.map((each) => each.portal)).toEqual([second]);
    });

    test.each([0, 1, 5, 20])(
      'never logs out of a session that a set-up uses meanwhile (%i turns later)',
      async (turns) => {
        const plugin = node.newPlugin();
        await node.setUp(plugin);
        await node.host.unmount(iscsiRequest().path);
        const released = plugin.nodeDevices?.release(attachName, node.signal);
        for (let turn = 0; turn < turns; turn++) await Promise.resolve();
        await node.setUp(plugin, { lun: 1 }, { pod: aPod({ name: 'q' }) });
        await released;
        expect(node.iscsi.sessions).toHaveLength(1);
        expect([...node.devices.links.keys()].filter((each) => each.includes('-lun-'))).toHaveLength(1);
        await node.cleanUp(plugin, 'uid-q', node.signal);
        expect(node.remains()).toEqual(clean);
      },
    );
  });

  describe('names', () => {
    const cases: readonly (readonly [string, string])[] = [
      ['10.0.0.1', '10.0.0.1'],
      ['10.0.0.1:3260', '10.0.0.1:3260'],
      ['[fd00::1]:3260', '[fd00::1]:3260'],
      ['san-1.example.com', 'san-1.example.com'],
    ];
    for (const [targetPortal, shown] of cases)
      test(`finds the name of ${targetPortal} on disk`, async () => {
        const plugin = node.newPlugin();
        await node.setUp(plugin, { targetPortal });
        const want = `kubernetes.io/iscsi/${shown}:${iqn}:0`;
        const { path, spec } = iscsiRequest({ targetPortal });
        const found = await node.newPlugin().nodeDevices?.keyOf({ uid: 'uid-p', directoryName: 'v', path });
        expect([plugin.deviceKey(spec), plugin.attachName(spec), found]).toEqual([want, want, want]);
        expect(await node.newPlugin().nodeDevices?.list()).toEqual([want]);
      });

    test('ignores a record that names another disk, or is damaged', async () => {
      await node.setUp(node.newPlugin());
      const path = `${iscsiRoot}/iface-default/record-${portal}-${iqn}-lun-0`;
      const want = [`kubernetes.io/iscsi/${portal}:${iqn}:0`];
      for (const text of [
        '{"attachName":"kubernetes.io/iscsi/x","volumes":[],"identifiers":[]}',
        '{',
        '[]',
        'x'.repeat(70_000),
      ]) {
        node.host.ownFiles.set(path, text);
        expect(await node.newPlugin().nodeDevices?.list()).toEqual(want);
      }
    });

    test('two persistent volumes that spell the portal differently share the disk until both are gone', async () => {
      const plugin = node.newPlugin();
      await node.setUp(plugin);
      await node.setUp(plugin, { targetPortal: portal }, { pod: aPod({ name: 'q' }) });
      expect(node.host.mounts).toHaveLength(3);
      await node.host.unmount(iscsiRequest().path);
      const other = `kubernetes.io/iscsi/${portal}:${iqn}:0`;
      const refused: unknown = await plugin.nodeDevices
        ?.release(attachName, node.signal)
        .catch((err: unknown) => err);
      expect(isKind(refused, 'conflict')).toBe(true);
      await node.host.unmount(iscsiRequest({}, { pod: aPod({ name: 'q' }) }).path);
      await plugin.nodeDevices?.release(other, node.signal);
      expect(node.remains()).toEqual(clean);
    });
  });
});
