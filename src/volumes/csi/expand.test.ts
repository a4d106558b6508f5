import { beforeEach, describe, expect, test } from 'vitest';
import { aPod } from '../../../test/builders/builders.ts';
import { aCsiRequest, aCsiSpec, CsiRig, csiOnDisk, csiRoot } from '../../../test/builders/csi-rig.ts';
import type { RpcFailureCode } from '../../api/cri/runtime.ts';
import { describeError, type KubeletError } from '../../base/errors.ts';
import type { VolumePlugin, VolumeSpec } from '../plugin.ts';
import { stagingPaths } from './paths.ts';

const { signal } = new AbortController();
const layout = { podsDir: '/root/pods', pluginsDir: '/root/plugins' };
const staging = stagingPaths(layout, { driver: 'd.csi', handle: 'h' });
const block = aCsiSpec({ pv: { volumeMode: 'Block' } });

describe('csi drivers', () => {
  let rig: CsiRig;
  let plugin: VolumePlugin;
  beforeEach(() => {
    rig = new CsiRig({ stage: true, expand: true, stats: true });
    plugin = rig.plugin();
  });

  const expand = async (spec: VolumeSpec, pod = aPod()): Promise<bigint | undefined> => {
    const { path } = csiOnDisk(spec, pod);
    return await plugin.expansion?.expand(
      { pod, spec, path: spec.isBlock ? path : `${path}/mount`, sizeBytes: 5n },
      signal,
    );
  };
  const failed = async (spec = aCsiSpec()): Promise<readonly unknown[]> =>
    await expand(spec).then(
      (size) => [size],
      (err: unknown) => [(err as KubeletError).details['expansion'], describeError(err)],
    );

  describe('expansion', () => {
    test('sends the paths, the capability and the secret of the volume', async () => {
      rig.putSecret('ns/s', { k: 'v' });
      const spec = aCsiSpec({
        csi: { fsType: 'xfs', nodeExpandSecretRef: { namespace: 'ns', name: 's' } },
        pv: { mountOptions: ['debug'], accessModes: ['ReadWriteMany'] },
      });
      expect(await expand(spec)).toBe(5n);
      expect(rig.driver.callsOf('expand')[0]?.request).toEqual({
        volumeId: 'h',
        volumePath: '/root/pods/uid-p/volumes/kubernetes.io~csi/pv/mount',
        stagingTargetPath: staging.mount,
        capacityRange: { requiredBytes: 5n, limitBytes: 0n },
        volumeCapability: {
          mount: { fsType: 'xfs', mountFlags: ['debug'], volumeMountGroup: '' },
          accessMode: { mode: 5 },
        },
        secrets: { k: 'v' },
      });
    });

    test('sends the staging path of a block volume for each of its pods', async () => {
      await expand(block);
      await expand(block, aPod({ uid: 'uid-q' }));
      const root = `${csiRoot}/volumeDevices`;
      expect(rig.driver.callsOf('expand').map(({ request }) => request)).toMatchObject([
        { volumePath: `${root}/publish/pv/uid-p`, stagingTargetPath: `${root}/staging/pv` },
        { volumePath: `${root}/publish/pv/uid-q`, stagingTargetPath: `${root}/staging/pv` },
      ]);
    });

    const codes: readonly (readonly [RpcFailureCode, string, string])[] = [
      ['INTERNAL', 'final', ' : rpc error: code = Internal desc = x'],
      ['DEADLINE_EXCEEDED', 'uncertain', ' : rpc error: code = DeadlineExceeded desc = x'],
      ['FAILED_PRECONDITION', 'precondition', ' : rpc error: code = FailedPrecondition desc = x'],
      ['OUT_OF_RANGE', 'infeasible', ' rpc error: code = OutOfRange desc = x'],
    ];
    for (const [code, want, text] of codes)
      test(`${code} is ${want}`, async () => {
        rig.driver.fail('expand', { code, message: 'x' });
        expect(await failed()).toEqual([want, `Expander.NodeExpand failed to expand the volume${text}`]);
      });

    test('a driver without the capability is distinguished', async () => {
      rig.driver.capabilities = { ...rig.driver.capabilities, expand: false };
      expect(await failed()).toEqual(['unsupported', 'NodeExpand is not supported by the CSI driver d.csi']);
    });

    test('what fails before the call is tried again', async () => {
      const secret = aCsiSpec({ csi: { nodeExpandSecretRef: { namespace: 'ns', name: 's' } } });
      expect((await failed(secret))[0]).toBe('uncertain');
      rig.drivers.deregister('d.csi');
      expect(await failed()).toEqual([
        'uncertain',
        'driver name d.csi not found in the list of registered CSI drivers',
      ]);
      expect(rig.driver.callsOf('expand')).toEqual([]);
    });
  });

  describe('usage', () => {
    const usage = { usage: [{ unit: 1, total: 10n, used: 4n, available: 6n } as const] };
    beforeEach(() => {
      rig.driver.usage = usage;
    });

    test('of a mounted volume', async () => {
      const { location } = await plugin.setUp(aCsiRequest(), signal);
      const path = location.kind === 'image' ? '' : location.path;
      expect(await plugin.stats(path, signal)).toMatchObject({
        usedBytes: 4,
        capacityBytes: 10,
        source: 'd.csi',
      });
      expect(rig.driver.callsOf('stats')[0]?.request).toEqual({
        volumeId: 'h',
        volumePath: path,
        stagingTargetPath: '',
      });
    });

    test('of a block volume', async () => {
      await plugin.block?.setUp(aCsiRequest(block), signal);
      await plugin.block?.stats?.(csiOnDisk(block).path, signal).catch(() => undefined);
      expect(rig.driver.callsOf('stats')[0]?.request).toMatchObject({
        volumePath: `${csiRoot}/volumeDevices/pv/dev/uid-p`,
      });
    });

    test('is not measured without the capability, or for a path of another plugin', async () => {
      const { location } = await plugin.setUp(aCsiRequest(), signal);
      const path = location.kind === 'image' ? '' : location.path;
      rig.driver.capabilities = { ...rig.driver.capabilities, stats: false };
      expect(await plugin.stats(path, signal)).toBeUndefined();
      expect(await plugin.stats('/root/pods/u/volumes/kubernetes.io~nfs/v', signal)).toBeUndefined();
      rig.drivers.deregister('d.csi');
      await expect(plugin.stats(path, signal)).rejects.toMatchObject({ kind: 'unavailable' });
    });
  });
});
