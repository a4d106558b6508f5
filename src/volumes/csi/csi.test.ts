import { beforeEach, describe, expect, test } from 'vitest';
import { aCsiSpec, anInlineSpec, CsiRig } from '../../../test/builders/csi-rig.ts';
import { aVolumeSpec } from '../../../test/builders/volume-requests.ts';
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

  test('reports why a volume is not attached', async () => {
    const failure = async (): Promise<unknown> => await plugin.attachment?.failure(aCsiSpec(), signal);
    expect(await failure()).toBeUndefined();
    rig.attach('h', { attached: false, attachError: { message: 'full', errorCode: 8 } });
    expect(await failure()).toEqual({ message: 'full', isLimit: false });
    rig.putDriver({ nodeAllocatableUpdatePeriodSeconds: 60 });
    expect(await failure()).toEqual({ message: 'full', isLimit: true });
    rig.storage.attachments.clear();
    expect(await failure()).toEqual({
      message: `volume h has GET error for volume attachment ${name}: volumeattachments.storage.k8s.io "${name}" not found`,
      isLimit: false,
    });
  });
});
