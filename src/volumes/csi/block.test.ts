import { beforeEach, describe, expect, test } from 'vitest';
import { aPod } from '../../../test/builders/builders.ts';
import {
  aCsiRequest,
  aCsiSpec,
  CsiRig,
  csiLayout,
  csiOnDisk,
  csiRoot,
} from '../../../test/builders/csi-rig.ts';
import type { NodePublishVolumeRequest } from '../../api/csi/generated/csi/v1/csi.ts';
import { describeError, type KubeletError } from '../../base/errors.ts';
import { setUpDevice, tearDownDevice } from '../devices/device-steps.ts';
import type { SetUpRequest, VolumePlugin } from '../plugin.ts';

const { signal } = new AbortController();
const key = 'kubernetes.io/csi/d.csi^h';
const root = `${csiRoot}/volumeDevices`;
const spec = aCsiSpec({
  csi: { volumeAttributes: { a: 'b' }, fsType: 'ext4' },
  pv: { volumeMode: 'Block', mountOptions: ['debug'] },
});
const volume = csiOnDisk(spec);
const published = `${root}/publish/pv/uid-p`;
const mapped = `${root}/pv/dev/uid-p`;
const shared = [
  `${root}/publish/pv`,
  `${root}/pv`,
  `${root}/pv/data`,
  `${root}/pv/data/vol_data.json`,
  `${root}/pv/dev`,
  `${root}/staging/pv`,
];

describe('csi block volumes', () => {
  let rig: CsiRig;
  let plugin: VolumePlugin;
  beforeEach(() => {
    rig = new CsiRig();
    plugin = rig.plugin();
  });

  const request = (uid = 'uid-p'): SetUpRequest => aCsiRequest(spec, { podOver: { uid } });
  const setUp = async (uid?: string): Promise<string> =>
    await setUpDevice({ host: rig.host, layout: csiLayout }, plugin, request(uid), signal).then(
      ({ location }) => (location.kind === 'image' ? '' : location.path),
      (err: unknown) => describeError(err),
    );
  const failure = async (): Promise<KubeletError> =>
    await setUpDevice({ host: rig.host, layout: csiLayout }, plugin, request(), signal).then(
      () => expect.fail('the set-up succeeded'),
      (err: unknown) => err as KubeletError,
    );
  const tearDown = async (uid = 'uid-p'): Promise<string> =>
    await tearDownDevice(
      { host: rig.host, layout: csiLayout },
      plugin,
      csiOnDisk(spec, aPod({ uid })),
      signal,
    ).then(
      () => 'done',
      (err: unknown) => describeError(err),
    );
  const release = async (): Promise<string> =>
    await (plugin.nodeDevices?.release(key, signal) ?? Promise.resolve()).then(
      () => 'done',
      (err: unknown) => describeError(err),
    );

  describe('block volumes', () => {
    test('are staged and published as devices', async () => {
      expect(await setUp()).toBe('/root/pods/uid-p/volumeDevices/kubernetes.io~csi/pv');
      const volumeCapability = { block: {}, accessMode: { mode: 1 } };
      const common = {
        volumeId: 'h',
        publishContext: {},
        volumeCapability,
        secrets: {},
        volumeContext: { a: 'b' },
      };
      const [stage] = rig.driver.callsOf('stage');
      expect(stage?.request).toEqual({ ...common, stagingTargetPath: `${root}/staging/pv` });
      const [publish] = rig.driver.callsOf('publish');
      expect(publish?.request).toEqual({
        ...common,
        stagingTargetPath: `${root}/staging/pv`,
        targetPath: published,
        readonly: false,
      });
      expect(rig.host.links.get(volume.path)).toBe(published);
      expect(rig.host.mounts).toContainEqual({ path: mapped, fsType: 'devtmpfs', options: published });
      expect(JSON.parse(rig.host.ownFiles.get(`${root}/pv/data/vol_data.json`) ?? '')).toMatchObject({
        specVolID: 'pv',
        volumeHandle: 'h',
        driverName: 'd.csi',
        nodeName: 'node-1',
      });
    });

    test('are given neither tokens nor a staging path that does not exist', async () => {
      rig = new CsiRig({});
      plugin = rig.plugin();
      rig.putDriver({ tokenRequests: [{ audience: 'a' }], podInfoOnMount: true });
      await setUp();
      const [publish] = rig.driver.callsOf('publish');
      expect(publish?.request).toMatchObject({ stagingTargetPath: '', secrets: {} });
      expect(
        Object.keys((publish?.request as NodePublishVolumeRequest | undefined)?.volumeContext ?? {}),
      ).toEqual([
        'a',
        'csi.storage.k8s.io/pod.name',
        'csi.storage.k8s.io/pod.namespace',
        'csi.storage.k8s.io/pod.uid',
        'csi.storage.k8s.io/serviceAccount.name',
        'csi.storage.k8s.io/ephemeral',
      ]);
      expect([await tearDown(), await release(), rig.remains()]).toEqual(['done', 'done', []]);
    });

    test('are shared by two pods and released after the second', async () => {
      await setUp();
      await setUp('uid-q');
      plugin = rig.plugin();
      expect([await plugin.nodeDevices?.keyOf(volume), await plugin.nodeDevices?.list()]).toEqual([
        key,
        [key],
      ]);
      expect([await plugin.labelOnDisk?.(volume), await plugin.nodeDevices?.isBlock?.(key)]).toEqual([
        'kubernetes.io/csi:d.csi',
        true,
      ]);
      expect(await tearDown()).toBe('done');
      expect(await release()).toBe(
        `the device "${root}/pv/dev" is still referenced from other Pods: ${root}/publish/pv is still mounted`,
      );
      expect(rig.driver.callsOf('unstage')).toEqual([]);
      expect([await tearDown('uid-q'), await release(), rig.remains()]).toEqual(['done', 'done', []]);
      expect(rig.driver.callsOf('stage')).toHaveLength(1);
      expect(rig.driver.callsOf('unstage')[0]?.request).toEqual({
        volumeId: 'h',
        stagingTargetPath: `${root}/staging/pv`,
      });
    });

    test('that are being set up are found although nothing links to them', async () => {
      let found: readonly string[] | undefined;
      rig.driver.onWork = async () => {
        found ??= await plugin.block?.findUnlinked?.('uid-p');
      };
      await setUp();
      expect([found, await plugin.block?.findUnlinked?.('uid-x')]).toEqual([['pv'], []]);
    });

    test('whose mapping is gone are found by what the driver published', async () => {
      await setUp();
      const map = plugin.block?.map?.(volume);
      if (map !== undefined) await rig.host.unmapDevice(map);
      expect(rig.remains()).toContain(published);
      expect(await plugin.block?.findUnlinked?.('uid-p')).toEqual(['pv']);
      expect(await tearDown()).toBe('done');
    });
  });

  describe('failures', () => {
    test('a final failure of stage leaves nothing', async () => {
      rig.driver.fail('stage', { code: 'INTERNAL' });
      const err = await failure();
      expect([err.details['step'], rig.remains()]).toEqual([undefined, []]);
    });

    test('a final failure of publish leaves the staged volume only', async () => {
      rig.driver.fail('publish', { code: 'INTERNAL' });
      const err = await failure();
      expect([err.details['step'], rig.remains()]).toEqual(['MapPodDevice', shared]);
      expect([await release(), rig.remains()]).toEqual(['done', []]);
    });

    for (const method of ['stage', 'publish'] as const)
      test(`an uncertain failure of ${method} keeps the pod's device, so that it is torn down`, async () => {
        rig.driver.fail(method, { code: 'UNAVAILABLE', times: 1 });
        await setUp();
        expect(await plugin.block?.findUnlinked?.('uid-p')).toEqual(['pv']);
        expect([await tearDown(), await release(), rig.remains()]).toEqual(['done', 'done', []]);
        expect(rig.driver.callsOf('unpublish')).toHaveLength(1);
      });

    test('a final failure of stage keeps the device of a pod of an earlier process', async () => {
      await setUp();
      const before = rig.remains();
      plugin = rig.plugin();
      rig.driver.fail('stage', { code: 'INTERNAL' });
      await setUp();
      await setUp('uid-q');
      expect(rig.remains()).toEqual(before);
    });

    test('a final failure of stage keeps a volume that an earlier process has staged for a pod that is gone', async () => {
      await setUp();
      await tearDown();
      plugin = rig.plugin();
      rig.driver.fail('stage', { code: 'INTERNAL' });
      await setUp('uid-q');
      expect(rig.remains()).toEqual(shared);
      expect(await plugin.nodeDevices?.list()).toEqual([key]);
    });

    for (const [name, kind, problem] of [
      ['nothing', undefined, 'does not exist'],
      ['a file', 'file', 'is a file, not a block-device'],
    ] as const)
      test(`a driver that published ${name} is refused`, async () => {
        rig.driver.onWork = (method, path) => {
          if (method === 'publish' && kind !== undefined) rig.host.entries.set(path, kind);
        };
        expect(await setUp()).toBe(
          `the CSI driver d.csi reported success, but ${published} ${problem.replace('block-device', 'block device')}`,
        );
        expect(rig.driver.callsOf('unpublish')).toHaveLength(1);
        expect(rig.remains()).toEqual(shared);
      });

    test('two PersistentVolumes of one name do not share directories', async () => {
      await setUp();
      rig.attach('i');
      const other = aCsiSpec({ csi: { volumeHandle: 'i' }, pv: { volumeMode: 'Block' } });
      await expect(plugin.block?.setUp(aCsiRequest(other), signal)).rejects.toThrow(
        `is in use by volume ${key}`,
      );
    });

    test('without its driver nothing is torn down', async () => {
      await setUp();
      rig.drivers.deregister('d.csi');
      expect(await tearDown()).toContain('driver name d.csi not found in the list of registered CSI drivers');
      expect(rig.remains()).toContain(published);
    });

    test('a damaged vol_data.json keeps what is mounted, and does not keep what is not', async () => {
      await setUp();
      rig.host.ownFiles.set(`${root}/pv/data/vol_data.json`, 'x');
      expect(await tearDown()).toContain('it is not JSON, but the volume is mounted');
      rig.host.mounts.length = 0;
      rig.host.entries.set(published, 'file');
      expect(await tearDown()).toBe('done');
      expect(rig.remains()).toEqual(shared);
    });
  });
});
