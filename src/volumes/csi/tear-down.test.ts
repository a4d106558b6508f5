import { beforeEach, describe, expect, test } from 'vitest';
import {
  aCsiRequest,
  aCsiSpec,
  anInlineSpec,
  CsiRig,
  csiOnDisk,
  csiRoot,
} from '../../../test/builders/csi-rig.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import type { VolumePlugin } from '../plugin.ts';
import { stagingPaths } from './paths.ts';

const { signal } = new AbortController();
const layout = { podsDir: '/root/pods', pluginsDir: '/root/plugins' };
const key = 'kubernetes.io/csi/d.csi^h';
const volume = csiOnDisk(aCsiSpec());
const data = `${volume.path}/vol_data.json`;
const mount = `${volume.path}/mount`;
const staging = stagingPaths(layout, { driver: 'd.csi', handle: 'h' });
const missing = 'driver name d.csi not found in the list of registered CSI drivers';

describe('tear-down of a csi volume', () => {
  let rig: CsiRig;
  let plugin: VolumePlugin;
  beforeEach(async () => {
    rig = new CsiRig();
    plugin = rig.plugin();
    await plugin.setUp(aCsiRequest(), signal);
    // A process that remembers nothing.
    plugin = rig.plugin();
  });

  const tearDown = async (): Promise<string> => await outcome(plugin.tearDown(volume, signal));
  const release = async (which = key): Promise<string> =>
    await outcome(plugin.nodeDevices?.release(which, signal) ?? Promise.resolve());
  const outcome = async (work: Promise<void>): Promise<string> =>
    await work.then(
      () => 'done',
      (err: unknown) => describeError(err),
    );
  const keyOf = async (): Promise<string | undefined> => await plugin.nodeDevices?.keyOf(volume);
  const list = async (): Promise<readonly string[] | undefined> => await plugin.nodeDevices?.list();

  describe('tear-down', () => {
    test('unpublishes, then removes what is left; the release unstages', async () => {
      expect([await keyOf(), await list()]).toEqual([key, [key]]);
      expect([await plugin.labelOnDisk?.(volume), await plugin.nodeDevices?.isBlock?.(key)]).toEqual([
        'kubernetes.io/csi:d.csi',
        false,
      ]);
      expect(await tearDown()).toBe('done');
      expect(rig.driver.callsOf('unpublish')[0]?.request).toEqual({ volumeId: 'h', targetPath: mount });
      expect([await keyOf(), await list()]).toEqual([undefined, [key]]);
      expect(await release()).toBe('done');
      expect(rig.driver.callsOf('unstage')[0]?.request).toEqual({
        volumeId: 'h',
        stagingTargetPath: staging.mount,
      });
      expect([rig.remains(), await list()]).toEqual([[], []]);
    });

    test('is idempotent', async () => {
      await tearDown();
      expect([await tearDown(), await release(), await release(), rig.remains()]).toEqual([
        'done',
        'done',
        'done',
        [],
      ]);
      expect(rig.driver.callsOf('unpublish')).toHaveLength(1);
    });

    test('waits for its driver', async () => {
      const before = rig.remains();
      rig.drivers.deregister('d.csi');
      await expect(plugin.tearDown(volume, signal)).rejects.toMatchObject({
        kind: 'unavailable',
        message: `kubernetes.io/csi: Unmounter.TearDownAt failed to get CSI client: ${missing}`,
      });
      expect(rig.remains()).toEqual(before);
      rig.drivers.register(rig.driver);
      expect(await tearDown()).toBe('done');
    });

    test('keeps everything when the driver fails', async () => {
      const before = rig.remains();
      rig.driver.fail('unpublish', { code: 'INTERNAL', message: 'busy' });
      expect(await tearDown()).toBe(
        'kubernetes.io/csi: Unmounter.TearDownAt failed: rpc error: code = Internal desc = busy',
      );
      expect(rig.remains()).toEqual(before);
    });

    test('reports a driver that claims to have unmounted', async () => {
      rig.driver.onWork = () => undefined;
      const before = rig.remains();
      expect(await tearDown()).toBe(
        `kubernetes.io/csi: Unmounter.TearDownAt failed to clean mount dir [${mount}]: ${mount} is still mounted`,
      );
      expect(rig.remains()).toEqual(before);
    });

    test('removes no content that a driver left', async () => {
      rig.driver.onWork = (_, path) => {
        rig.host.mounts.splice(
          rig.host.mounts.findIndex((each) => each.path === path),
          1,
        );
        rig.host.entries.set(`${path}/file`, 'file');
      };
      expect(await tearDown()).toContain('is not empty');
      expect(rig.host.ownFiles.has(data)).toBe(true);
    });

    test('an inline volume has no device', async () => {
      rig = new CsiRig({});
      plugin = rig.plugin();
      rig.putDriver({ volumeLifecycleModes: ['Ephemeral'] });
      await plugin.setUp(aCsiRequest(anInlineSpec()), signal);
      const inline = csiOnDisk(anInlineSpec());
      expect(await plugin.nodeDevices?.keyOf(inline)).toBeUndefined();
      await plugin.tearDown(inline, signal);
      expect(rig.remains()).toEqual([]);
    });
  });

  describe('vol_data.json that cannot be used', () => {
    const texts = [
      ['is truncated', '{"driverName":', 'it is not JSON'],
      ['is not JSON', 'x', 'it is not JSON'],
      [
        'names a path as driver',
        '{"driverName":"../../x","volumeHandle":"h"}',
        'its driver name is not valid',
      ],
      [
        'is that of another volume',
        '{"driverName":"d.csi","volumeHandle":"h","specVolID":"pw","nodeName":"node-1"}',
        'it belongs to another volume',
      ],
      ['is missing', undefined, 'it does not exist'],
    ] as const;
    for (const [name, text, why] of texts) {
      const damage = (): void => {
        if (text !== undefined) rig.host.ownFiles.set(data, text);
        else {
          rig.host.ownFiles.delete(data);
          rig.host.entries.delete(data);
        }
      };
      test(`${name}: a volume that is staged is found by its mount, and unmounted`, async () => {
        damage();
        expect([await keyOf(), await tearDown(), await release(), rig.remains()]).toEqual([
          key,
          'done',
          'done',
          [],
        ]);
      });

      test(`${name}: a volume that is wanted stays mounted, and its file is written again`, async () => {
        const good = rig.host.ownFiles.get(data);
        damage();
        await plugin.setUp(aCsiRequest(), signal);
        expect([rig.host.ownFiles.get(data), rig.driver.callsOf('unpublish')]).toEqual([good, []]);
      });

      test(`${name}: a mounted volume is left alone and reported if several volumes may be mounted there`, async () => {
        damage();
        const other = stagingPaths(layout, { driver: 'd.csi', handle: 'i' });
        await rig.host.makeDirectory(other.mount);
        await rig.host.writeOwnFile(other.data, '{"driverName":"d.csi","volumeHandle":"i"}');
        rig.host.mounts.push({ path: other.mount, fsType: 'ext4', options: 'h' });
        expect(await tearDown()).toContain('but the volume is mounted');
      });

      test(`${name}: a mounted volume that is not staged is left alone and reported`, async () => {
        rig = new CsiRig({});
        plugin = rig.plugin();
        await plugin.setUp(aCsiRequest(), signal);
        damage();
        const before = rig.remains();
        expect(await tearDown()).toBe(
          `kubernetes.io/csi: unmounter failed to load volume data file [${data}]: ${why}, but the volume is mounted`,
        );
        expect([rig.remains(), await keyOf(), rig.driver.callsOf('unpublish')]).toEqual([
          before,
          undefined,
          [],
        ]);
        expect(await plugin.reconstruct(volume)).toBeUndefined();
      });

      test(`${name}: the files of a volume that is not mounted are removed`, async () => {
        rig.host.mounts.length = 0;
        damage();
        expect(await tearDown()).toBe('done');
        expect(rig.remains().filter((path) => path.includes('uid-p'))).toEqual([]);
      });

      test(`${name}: the volume is set up again once it is not mounted`, async () => {
        rig.host.mounts.length = 0;
        damage();
        await plugin.setUp(aCsiRequest(), signal);
        expect(await keyOf()).toBe(key);
      });
    }
  });

  describe('release', () => {
    test('refuses while the volume has another mount', async () => {
      expect(await release()).toBe(
        `GetDeviceMountRefs check failed for volume "h" (UniqueName: "${key}") on node "node-1" : the device mount path "${staging.mount}" is still mounted by other references [${mount}]`,
      );
      expect(rig.driver.callsOf('unstage')).toEqual([]);
    });

    test('the same mount seen through a second mount of the root directory is no other reference', async () => {
      await tearDown();
      rig.host.mounts.push({ path: `/second${staging.mount}`, fsType: 'ext4', options: 'h' });
      expect(await release()).toBe('done');
    });

    test('needs the driver only if the volume may be staged', async () => {
      await tearDown();
      rig.drivers.deregister('d.csi');
      expect(await release()).toBe(
        `kubernetes.io/csi: attacher.UnmountDevice failed to create newCsiDriverClient: ${missing}`,
      );
      expect(await release('kubernetes.io/csi/other^h')).toBe('done');
    });

    test('a failed unstage keeps everything, and the next pod has the volume staged again', async () => {
      await tearDown();
      const before = rig.remains();
      rig.driver.fail('unstage', { code: 'INTERNAL', message: 'busy' });
      expect(await release()).toBe(
        'kubernetes.io/csi: attacher.UnmountDevice failed: rpc error: code = Internal desc = busy',
      );
      expect(rig.remains()).toEqual(before);
      await plugin.setUp(aCsiRequest(), signal);
      expect(rig.driver.callsOf('stage')).toHaveLength(2);
    });

    test('removes the empty directory that the Go kubelet leaves of a driver that does not stage', async () => {
      rig = new CsiRig({});
      plugin = rig.plugin();
      await rig.host.makeDirectory(staging.mount);
      rig.drivers.deregister('d.csi');
      expect([await release(), rig.remains()]).toEqual(['done', []]);
    });

    test('listing removes it too, and nothing that holds anything', async () => {
      const other = `${csiRoot}/d.csi/other`;
      await rig.host.makeDirectory(`${other}/globalmount`);
      await rig.host.makeDirectory(`${csiRoot}/d.csi/full/globalmount/content`);
      await rig.host.makeDirectory(`${csiRoot}/d.csi/used/globalmount`);
      rig.host.mounts.push({ path: `${csiRoot}/d.csi/used/globalmount`, fsType: 'ext4', options: 'x' });
      expect(await list()).toEqual([key]);
      const found = ['other', 'full', 'used'].filter((name) =>
        rig.host.entries.has(`${csiRoot}/d.csi/${name}`),
      );
      expect(found).toEqual(['full', 'used']);
    });

    test('unstages a volume whose vol_data.json is damaged, as long as its name is known', async () => {
      await tearDown();
      rig.host.ownFiles.set(staging.data, '{');
      expect([await list(), await release(), rig.remains()]).toEqual([[], 'done', []]);
      expect(rig.driver.callsOf('unstage')).toHaveLength(1);
    });

    test('refuses the name of another plugin', async () =>
      expect(await release('kubernetes.io/csi/../x^h')).toBe('"kubernetes.io/csi/../x^h" is no CSI volume'));

    test('lists only directories that belong to the volume that they name', async () => {
      const put = async (directory: string, text: string): Promise<void> => {
        await rig.host.makeDirectory(`${csiRoot}/${directory}`);
        await rig.host.writeOwnFile(`${csiRoot}/${directory}/vol_data.json`, text);
      };
      await put('d.csi/wrong', '{"driverName":"d.csi","volumeHandle":"i"}');
      await put('e.csi/x', '{"driverName":"d.csi","volumeHandle":"h"}');
      await put('-bad/x', '{"driverName":"d.csi","volumeHandle":"h"}');
      await put('d.csi/junk', 'junk');
      expect(await list()).toEqual([key]);
    });

    test('an unreadable file is an error, not an unused device', async () => {
      rig.host.injectFault('readOwnFile', () =>
        Promise.reject(new KubeletError('internal', 'EIO', 'broken')),
      );
      await expect(plugin.nodeDevices?.list()).rejects.toThrow('broken');
      await expect(plugin.nodeDevices?.keyOf(volume)).rejects.toThrow('broken');
    });
  });

  test('a volume that was set up under another name of the node is unpublished', async () => {
    rig.host.ownFiles.set(data, '{"driverName":"d.csi","volumeHandle":"h","specVolID":"pv","nodeName":"m"}');
    expect([await keyOf(), await tearDown(), await release(), rig.remains()]).toEqual([
      key,
      'done',
      'done',
      [],
    ]);
  });

  describe('reconstruction', () => {
    beforeEach(() => void rig.host.entries.set('/root/pods/uid-p/containers/main', 'directory'));

    test('recovers a volume that an earlier process mounted', async () =>
      expect(await plugin.reconstruct(volume)).toEqual({
        location: { kind: 'path', path: mount },
        readOnly: false,
        managed: false,
      }));

    test('not one that this process began to publish, whose driver may not be done', async () => {
      expect(await tearDown()).toBe('done');
      rig.driver.fail('publish', { code: 'UNAVAILABLE', afterwards: true, times: 1 });
      await expect(plugin.setUp(aCsiRequest(), signal)).rejects.toThrow();
      expect(rig.host.mounts.map(({ path }) => path)).toContain(mount);
      expect(await plugin.reconstruct(volume)).toBeUndefined();
    });

    test('not one of a pod that never had a container, since its set-up may have been interrupted', async () => {
      rig.host.entries.delete('/root/pods/uid-p/containers/main');
      expect(await plugin.reconstruct(volume)).toBeUndefined();
    });

    test('not one that is not mounted at its own path', async () => {
      rig.host.mounts.length = 0;
      rig.host.mounts.push({ path: `${mount}/below`, fsType: 'ext4', options: 'x' });
      expect(await plugin.reconstruct(volume)).toBeUndefined();
    });
  });
});
