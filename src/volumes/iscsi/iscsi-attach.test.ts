import { beforeEach, describe, expect, test } from 'vitest';
import { hanging } from '../../../test/fakes/fake-host-programs.ts';
import { IscsiNode, iqn, iscsiRequest, place, portal } from '../../../test/fakes/iscsi-node.ts';
import { isKind, KubeletError } from '../../base/errors.ts';

describe('iscsi: attaching fails', () => {
  let node: IscsiNode;
  beforeEach(() => {
    node = new IscsiNode();
  });

  describe('failures', () => {
    const noPath = 'failed to get any path for iscsi disk, last err seen: ';
    test.each([
      [
        '--discover',
        4,
        `${noPath}iscsi: failed to sendtargets to portal ${portal} output: bad, err exit status 4`,
      ],
      ['--login', 8, `${noPath}iscsi: failed to attach disk: Error: bad (exit status 8)`],
      ['node.session.scan', 6, 'done'],
      ['node.startup', 6, 'done'],
      ['-o new', 6, 'done'],
    ])('%s exits with %i', async (part, code, want) => {
      node.iscsi.override = (line) => (line.includes(part) ? { code, stderr: 'bad' } : undefined);
      expect(await node.tried(node.newPlugin())).toBe(want);
      node.iscsi.override = () => undefined;
      expect(await node.tried(node.newPlugin())).toBe('done');
    });

    test('names the step WaitForAttach', async () => {
      node.iscsi.targets.clear();
      const err: unknown = await node.setUp(node.newPlugin()).catch((each: unknown) => each);
      expect(err instanceof KubeletError && err.details).toEqual({ step: 'WaitForAttach' });
    });

    test('a log-in that finds a session succeeds, and keeps the record of the node', async () => {
      node.iscsi.override = async (line) => {
        node.iscsi.override = () => undefined;
        await node.programs.programs.get('iscsiadm')?.(line.split(' '), node.signal);
        return { code: 15, stderr: 'iscsiadm: default: 1 session requested, but 1 already present.' };
      };
      const { override } = node.iscsi;
      node.iscsi.override = (line) => (line.endsWith('--login') ? override(line) : undefined);
      expect(await node.tried(node.newPlugin())).toBe('done');
      expect([node.iscsi.sessions.length, node.iscsi.nodes.size]).toEqual([1, 1]);
    });

    test('a missing iscsiadm is named with the package to install', async () => {
      node.programs.programs.delete('iscsiadm');
      const want = 'iscsiadm not found on the node: install the package open-iscsi (iscsi-initiator-utils)';
      expect(await node.tried(node.newPlugin())).toBe(want);
    });

    test('an iscsiadm that hangs fails the attempt, and the next one completes', async () => {
      node.iscsi.override = (line) =>
        line.endsWith('--login') ? (hanging('iscsiadm')([], node.signal) as Promise<object>) : undefined;
      expect(await node.tried(node.newPlugin())).toContain('iscsiadm did not exit within');
      node.iscsi.override = () => undefined;
      expect(await node.tried(node.newPlugin())).toBe('done');
    });

    test('an abort ends the wait for a device at once', async () => {
      node.iscsi.targets.set(portal, { iqn, luns: [] });
      const abort = new AbortController();
      const work = node
        .newPlugin()
        .setUp(iscsiRequest(), abort.signal)
        .catch((err: unknown) => err);
      await node.clock.advance(5_000);
      const reason = new Error('pod deleted');
      abort.abort(reason);
      expect(await work).toBe(reason);
      expect(node.clock.pendingTimers()).toBe(0);
    });

    test('a device that never appears is waited for 30 s', async () => {
      node.iscsi.targets.set(portal, { iqn, luns: [] });
      expect(await node.tried(node.newPlugin())).toBe(
        `${noPath}Timed out waiting for device at path /dev/disk/by-path/ip-${portal}-iscsi-${iqn}-lun-0 after 30s`,
      );
    });

    test('finds the device of another transport by its suffix', async () => {
      node.iscsi.ifaces.get('default')?.set('iface.transport_name', 'bnx2i');
      node.iscsi.targets.set(portal, { iqn, luns: [] });
      const link = `/dev/disk/by-path/pci-0000:04:00.1-ip-${portal}-iscsi-${iqn}-lun-0`;
      node.devices.links.set(link, '/dev/sdq');
      await node.setUp(node.newPlugin());
      expect(node.mountLines()[0]).toBe(`${link} on ${place}`);
    });

    test.each([
      ['a slash in the target', { iqn: 'iqn.2016-04.test.com:../../x' }],
      ['a slash in the portal', { targetPortal: '../x:1' }],
      ['a slash in the interface', { iscsiInterface: '../x' }],
      ['a target that is not qualified', { iqn: 'target' }],
    ])('rejects %s before anything is run', async (_name, over) => {
      const err: unknown = await node.setUp(node.newPlugin(), over).catch((each: unknown) => each);
      expect(isKind(err, 'invalid')).toBe(true);
      expect([node.programs.lines, node.host.entries.size]).toEqual([[], 0]);
    });
  });
});
