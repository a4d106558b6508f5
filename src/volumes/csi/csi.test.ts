import { beforeEach, describe, expect, test } from 'vitest';
import { aCsiRequest, aCsiSpec, anInlineSpec, CsiRig } from '../../../test/builders/csi-rig.ts';
import { aVolumeSpec } from '../../../test/builders/volume-requests.ts';
import type { CsiDriverClient } from '../../api/ports/csi.ts';
import type { VolumePlugin } from '../plugin.ts';
import { attachmentName } from './names.ts';

const { signal } = new AbortController();
const key = 'kubernetes.io/csi/d.csi^h';
const name = attachmentName({ driver: 'd.csi', handle: 'h' }, 'node-1');

describe('csi plugin', () => {
  let rig: CsiRig;
  let plugin: VolumePlugin;
  beforeEach(() => {
    rig = new CsiRig();
    plugin = rig.plugin();
  });

  test('serves persistent and inline volumes of CSI drivers', () => {
    expect(plugin.canServe(aCsiSpec())).toBe(true);
    expect(plugin.canServe(anInlineSpec())).toBe(true);
    expect(plugin.canServe(aVolumeSpec({ nfs: { server: 's', path: '/' } }))).toBe(false);
    expect(plugin.canServe(aVolumeSpec({}, { persistent: { spec: {} } }))).toBe(false);
  });

  test('an inline volume is no device and is not attached', () => {
    expect(plugin.deviceKey(anInlineSpec())).toBeUndefined();
    expect(plugin.attachName(anInlineSpec())).toBeUndefined();
  });

  test('a persistent volume is attached unless its CSIDriver excludes that', () => {
    const names = (): unknown => [plugin.attachName(aCsiSpec()), plugin.nodeDevices?.attachName?.(key)];
    expect(plugin.deviceKey(aCsiSpec())).toBe(key);
    expect(names()).toEqual([key, key]);
    rig.putDriver({ attachRequired: true });
    expect(names()).toEqual([key, key]);
    rig.putDriver({ attachRequired: false });
    expect(names()).toEqual([undefined, undefined]);
    rig.storage.isListed = false;
    expect(names()).toEqual([key, key]);
  });

  test('has a part in the expansion of persistent volumes only, and passes mount options on', () => {
    expect(plugin.expansion?.applies?.(aCsiSpec())).toBe(true);
    expect(plugin.expansion?.applies?.(anInlineSpec())).toBe(false);
    expect(plugin.supportsMountOptions).toBe(true);
  });

  test('the driver is part of the label in metrics', () => {
    expect(plugin.label?.(aCsiSpec())).toBe('kubernetes.io/csi:d.csi');
    expect(plugin.label?.(anInlineSpec())).toBe('kubernetes.io/csi:d.csi');
    expect(plugin.nodeDevices?.label?.(key)).toBe('kubernetes.io/csi:d.csi');
  });

  test('is published again as its CSIDriver requires', () => {
    expect(plugin.needsRefresh(aCsiSpec())).toBe(false);
    rig.putDriver({ requiresRepublish: true });
    expect(plugin.needsRefresh(aCsiSpec())).toBe(true);
    rig.storage.isListed = false;
    expect(plugin.needsRefresh(aCsiSpec())).toBe(false);
  });

  test('waits for its driver to register', () => {
    expect(plugin.prerequisite?.missing(aCsiSpec())).toBeUndefined();
    const changed: unknown[] = [];
    plugin.prerequisite?.changed.subscribe((driver) => changed.push(driver));
    rig.drivers.deregister('d.csi');
    expect(plugin.prerequisite?.missing(anInlineSpec())).toBe('the CSI driver d.csi to register');
    expect(changed).toEqual(['d.csi']);
  });

  test('names the call that a pod waits for, until it ends', async () => {
    for (const [method, name] of [
      ['capabilities', 'NodeGetCapabilities'],
      ['stage', 'NodeStageVolume'],
      ['publish', 'NodePublishVolume'],
    ] as const) {
      const stop = new AbortController();
      rig.driver.fail(method, { code: 'hang', times: 1 });
      const setUp = plugin.setUp(aCsiRequest(), stop.signal).catch(() => undefined);
      await rig.clock.advance(0);
      expect(plugin.activities?.('uid-p').map(({ what }) => what)).toEqual([
        `volume v waits for the CSI driver d.csi to answer ${name}`,
      ]);
      expect(plugin.activities?.('uid-q')).toEqual([]);
      stop.abort();
      await setUp;
      expect(plugin.activities?.('uid-p')).toEqual([]);
    }
  });

  test('announces that it waits right before each call that may take long', async () => {
    const waits: number[] = [];
    const calls = (): number => rig.driver.callsOf('stage').length + rig.driver.callsOf('publish').length;
    await plugin.setUp({ ...aCsiRequest(), onWait: () => waits.push(calls()) }, signal);
    expect(waits).toEqual([0, 1]);
  });

  test('marks the calls that set up a migrated volume', async () => {
    const migrated: unknown[] = [];
    const spied: CsiDriverClient = {
      ...rig.driver.client(),
      stage: (_request, _signal, options) => Promise.resolve(void migrated.push(options?.migrated)),
      publish: (_request, _signal, options) => {
        migrated.push(options?.migrated);
        return Promise.reject(new Error('enough'));
      },
    };
    const { changed } = rig.drivers;
    const drivers = {
      get: () => spied,
      names: () => [],
      changed,
      refreshAllocatable: () => Promise.resolve(),
    };
    for (const isMigrated of [true, false])
      await rig
        .plugin({ drivers })
        .setUp(aCsiRequest(aCsiSpec({ spec: { isMigrated } })), signal)
        .catch(() => undefined);
    expect(migrated).toEqual([true, true, false, false]);
  });

  test('reports why a volume is not attached', async () => {
    const failure = async (): Promise<unknown> => await plugin.attachment?.failure(aCsiSpec(), signal);
    expect(await failure()).toBeUndefined();
    rig.attach('h', { attached: false, attachError: { message: 'full', errorCode: 8 } });
    expect(await failure()).toEqual({ message: 'full', isLimit: false });
    rig.putDriver({ nodeAllocatableUpdatePeriodSeconds: 60 });
    expect(rig.drivers.refreshed).toEqual([]);
    expect(await failure()).toEqual({ message: 'full', isLimit: true });
    expect(rig.drivers.refreshed).toEqual(['d.csi']);
    rig.storage.attachments.clear();
    expect(await failure()).toEqual({
      message: `volume h has GET error for volume attachment ${name}: volumeattachments.storage.k8s.io "${name}" not found`,
      isLimit: false,
    });
  });
});
