import { expect, test } from 'vitest';
import {
  checkDriverName,
  deviceKeyOf,
  deviceOfKey,
  directoryOfDriver,
  driverAt,
  driverOfDirectory,
  globalMountDir,
  isDriverName,
} from './driver-name.ts';

const layout = { podsDir: '/k/pods', pluginsDir: '/k/plugins' };

const names: readonly (readonly [string, boolean])[] = [
  ['vendor/driver', true],
  ['driver', true],
  ['example.com/my-driver_1', true],
  ['kubernetes.io/lvm', true],
  ['a/b/c', true],
  ['', false],
  ['/', false],
  ['vendor/', false],
  ['/driver', false],
  ['..', false],
  ['../driver', false],
  ['vendor/..', false],
  ['vendor/.driver', false],
  ['vendor~driver', false],
  ['vendor/mounts', false],
  ['vendor/a\nb', false],
  ['vendor/a\0b', false],
  ['a/b/c/d/e', false],
  ['kubernetes.io/csi', false],
  ['kubernetes.io/flexvolume', false],
  ['x'.repeat(251), false],
  ['/'.repeat(1_000_000), false],
];
for (const [name, want] of names)
  test(`${JSON.stringify(name.slice(0, 40))} is ${want ? 'a' : 'not a'} driver’s name`, () => {
    expect(isDriverName(name)).toBe(want);
  });

test('an invalid name is refused with at most its beginning', () => {
  expect(() => checkDriverName('../x')).toThrow('"../x" is not a valid name of a FlexVolume driver');
  expect(() => checkDriverName('/'.repeat(1_000_000))).toThrow(/^.{1,320}$/);
});

test('names and directories of drivers are the same thing', () => {
  expect(directoryOfDriver('vendor/driver')).toBe('vendor~driver');
  expect(driverOfDirectory('vendor~driver')).toBe('vendor/driver');
  expect(driverAt('/k/pods/u/volumes/vendor~driver/v')).toBe('vendor/driver');
});

test('the global mount has upstream’s path, and never one outside the plugins’ directory', () => {
  const device = { driver: 'vendor/driver', volume: 'pv1' };
  expect(globalMountDir(layout, device)).toBe('/k/plugins/kubernetes.io/flexvolume/vendor/driver/mounts/pv1');
  expect(deviceKeyOf(device)).toBe('vendor/driver/pv1');
  expect(deviceOfKey('vendor/driver/pv1')).toEqual(device);
  for (const volume of ['', '.', '..', 'a/b', 'a\0b'])
    expect(() => globalMountDir(layout, { driver: 'vendor/driver', volume })).toThrow(
      'not a valid directory name',
    );
  expect(() => globalMountDir(layout, { driver: '../..', volume: 'v' })).toThrow('not a valid name');
});
