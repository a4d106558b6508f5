import { beforeEach, describe, expect, test } from 'vitest';
import { clean, IscsiNode, iscsiRequest, second } from '../../../test/fakes/iscsi-node.ts';
import type { VolumePlugin } from '../plugin.ts';

describe('iscsi: a killed kubelet', () => {
  let node: IscsiNode;
  beforeEach(() => {
    node = new IscsiNode();
  });

  describe('a killed kubelet', () => {
    const over = { portals: [second], initiatorName: 'iqn.1993-08.org.debian:01:own' };
    /** Runs a plugin that dies at its n-th call, for every n, and then the check. */
    async function atEveryCall(
      run: (plugin: VolumePlugin) => Promise<unknown>,
      check: () => Promise<void>,
      prepare: () => Promise<unknown>,
    ): Promise<number> {
      for (let atCall = 1; ; atCall++)
        for (const after of [false, true]) {
          node = new IscsiNode();
          node.iscsi.multipath = true;
          await prepare();
          const plugin = node.newPlugin({ atCall, after });
          const died = await node.clock.until(
            run(plugin).then(
              () => false,
              () => true,
            ),
          );
          await check();
          if (!died) return atCall;
        }
    }

    test('leaves nothing that a later one does not clean up', async () => {
      const steps = await atEveryCall(
        (plugin) => plugin.setUp(iscsiRequest(over), node.signal),
        async () => {
          await node.cleanUp(node.newPlugin(), 'uid-p', node.signal);
          expect(node.remains()).toEqual(clean);
        },
        () => Promise.resolve(),
      );
      expect(steps).toBeGreaterThan(60);
    });

    test('leaves nothing that keeps a later one from mounting the volume', async () => {
      await atEveryCall(
        (plugin) => plugin.setUp(iscsiRequest(over), node.signal),
        async () => {
          await node.setUp(node.newPlugin(), over);
          expect(node.mountLines()).toHaveLength(2);
          await node.cleanUp(node.newPlugin(), 'uid-p', node.signal);
          expect(node.remains()).toEqual(clean);
        },
        () => Promise.resolve(),
      );
    });

    test('leaves nothing of an unfinished release', async () => {
      const steps = await atEveryCall(
        (plugin) => node.cleanUp(plugin, 'uid-p', node.signal),
        async () => {
          await node.cleanUp(node.newPlugin(), 'uid-p', node.signal);
          expect(node.remains()).toEqual(clean);
        },
        () => node.setUp(node.newPlugin(), over),
      );
      expect(steps).toBeGreaterThan(30);
    });
  });
});
