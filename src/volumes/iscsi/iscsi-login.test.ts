import { beforeEach, describe, expect, test } from 'vitest';
import { aPod } from '../../../test/builders/builders.ts';
import {
  admin,
  clean,
  IscsiNode,
  iqn,
  iscsiRoot,
  iscsiSource,
  portal,
} from '../../../test/fakes/iscsi-node.ts';
import { describeError, KubeletError } from '../../base/errors.ts';

describe('iscsi: secrets and initiator names', () => {
  let node: IscsiNode;
  beforeEach(() => {
    node = new IscsiNode();
  });

  describe('authentication', () => {
    const chap = { chapAuthDiscovery: true, chapAuthSession: true, secretRef: { name: 'chap' } };

    test('passes the secret as sensitive arguments', async () => {
      node.iscsi.targets.set(portal, { iqn, luns: [0], password: 'hunter2' });
      await node.setUp(node.newPlugin(), chap);
      expect(node.secrets).toEqual(['default/chap']);
      const record = `-m discoverydb -t sendtargets -p ${portal} -I default -o update -n discovery.sendtargets.auth`;
      const command = `-m node -p ${portal} -T ${iqn} -I default -o update -n node.session.auth`;
      expect(node.programs.lines.filter((line) => line.includes('.auth'))).toEqual(
        [
          `${record}.authmethod -v CHAP`,
          `${record}.username -v ***`,
          `${record}.password -v ***`,
          `${command}.authmethod -v CHAP`,
          `${command}.username -v ***`,
          `${command}.password -v ***`,
        ].map(admin),
      );
    });

    test('reads the secret of a persistent volume from its own namespace, else from that of the pod', async () => {
      const pv = (secretRef: object): object => ({
        persistent: { spec: { iscsi: { ...iscsiSource, chapAuthSession: true, secretRef } } },
      });
      await node.setUp(node.newPlugin(), {}, { spec: pv({ name: 'a', namespace: 'storage' }) });
      await node.setUp(
        node.newPlugin(),
        {},
        { spec: pv({ name: 'b' }), pod: aPod({ name: 'q', namespace: 'apps' }) },
      );
      expect(node.secrets).toEqual(['storage/a']);
      await node.cleanUp(node.newPlugin(), 'uid-p', node.signal);
      node.host.mounts.length = 0;
      await node.setUp(
        node.newPlugin(),
        {},
        { spec: pv({ name: 'b' }), pod: aPod({ name: 'q', namespace: 'apps' }) },
      );
      expect(node.secrets).toEqual(['storage/a', 'apps/b']);
    });

    test('fails without the secret, and before anything is run', async () => {
      const err: unknown = await node
        .setUp(node.newPlugin(), { ...chap, secretRef: { name: 'none' } })
        .catch((each: unknown) => each);
      expect(describeError(err)).toBe('couldn\'t get secret default/none error: secrets "none" not found');
      expect(err instanceof KubeletError && err.details).toEqual({ step: 'NewMounter initialization' });
      expect(node.programs.lines).toEqual([]);
    });

    test('never quotes the standard output of a command with a secret', async () => {
      node.iscsi.override = (line) =>
        line.includes('hunter2') ? { code: 7, stdout: 'hunter2', stderr: 'refused' } : undefined;
      const text = await node.tried(node.newPlugin(), chap);
      expect(text).toContain('failed to update node session key "node.session.auth.password" error: refused');
      expect(text).not.toContain('hunter2');
    });
  });

  describe('initiator name', () => {
    const initiatorName = 'iqn.1993-08.org.debian:01:own';
    const iface = `${portal}:v`;

    test('copies the interface, and deletes the copy with the session', async () => {
      node.iscsi.ifaces.get('default')?.set('iface.net_ifacename', 'eth1');
      const plugin = node.newPlugin();
      await node.setUp(plugin, { initiatorName });
      expect(node.iscsi.ifaces.get(iface)).toEqual(
        new Map([
          ['iface.initiatorname', initiatorName],
          ['iface.net_ifacename', 'eth1'],
          ['iface.transport_name', 'tcp'],
        ]),
      );
      expect(node.iscsi.sessions.map((each) => each.iface)).toEqual([iface]);
      expect(node.mountLines()[0]).toContain(`${iscsiRoot}/iface-${iface}/${portal}-${iqn}-lun-0`);
      await node.cleanUp(node.newPlugin(), 'uid-p', node.signal);
      expect(node.remains()).toEqual(clean);
      expect(node.host.entries.has(`${iscsiRoot}/iface-${iface}`)).toBe(false);
    });

    test('does not use the session of another interface, and keeps that session', async () => {
      const plugin = node.newPlugin();
      await node.setUp(plugin);
      await node.setUp(plugin, { initiatorName, lun: 1 }, { pod: aPod({ name: 'q' }) });
      expect(node.iscsi.sessions.map((each) => each.iface)).toEqual(['default', iface]);
      await node.cleanUp(plugin, 'uid-q', node.signal);
      expect(node.iscsi.sessions.map((each) => each.iface)).toEqual(['default']);
      expect(node.iscsi.ifaces.has(iface)).toBe(false);
    });

    test.each([
      ['-o show', 'iscsi: could not read iface default error: bad (exit status 6)'],
      [`-I ${iface} -o new`, 'iscsi: failed to create new iface: bad (exit status 6)'],
      [
        '-n iface.initiatorname',
        'iscsi: failed to update iface records: bad (exit status 6). iface(default) will be used',
      ],
    ])('reports a failure of %s', async (part, message) => {
      node.iscsi.override = (line) => (line.includes(part) ? { code: 6, stderr: 'bad' } : undefined);
      expect(await node.tried(node.newPlugin(), { initiatorName })).toBe(message);
      node.iscsi.override = () => undefined;
      await node.cleanUp(node.newPlugin(), 'uid-p', node.signal);
      expect(node.remains()).toEqual(clean);
    });
  });
});
