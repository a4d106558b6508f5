import { expect, test } from 'vitest';
import { computeHighestVersion, versionsFault } from './driver-versions.ts';

const supported: readonly (readonly [readonly string[], string])[] = [
  [['1.0.0'], '1.0.0'],
  [['v1.2'], '1.2'],
  [['0.3.0', '1.1.0', '1.0.0'], '1.1.0'],
  [['1.9.0', '1.10.0'], '1.10.0'],
  [['2.0.0', '1.3.0', '3.1.0'], '1.3.0'],
  [[' 1.4-beta+x y', 'garbage'], '1.4'],
];
for (const [versions, want] of supported)
  test(`computeHighestVersion: ${JSON.stringify(versions)} → ${want}`, () =>
    expect(computeHighestVersion(versions)).toEqual({ version: want }));

const prefix = 'kubernetes.io/csi: ValidatePlugin for CSI driver "d" failed.';
const unsupported: readonly (readonly [readonly string[], string])[] = [
  [[], ' Plugin returned an empty list for supported versions'],
  [
    ['0.3.0', '0.2.1'],
    ' None of the versions specified ["0.3.0" "0.2.1"] are supported. err=highest supported version reported is 0.3.0, must be v1.x',
  ],
  [
    ['2.0'],
    ' None of the versions specified ["2.0"] are supported. err=could not find a highest supported version from versions ([2.0]) reported: <nil>',
  ],
  [
    ['1', 'x'],
    ' None of the versions specified ["1" "x"] are supported. err=could not find a highest supported version from versions ([1 x]) reported: illegal version string "1"',
  ],
  [
    ['x'],
    ' None of the versions specified ["x"] are supported. err=could not find a highest supported version from versions ([x]) reported: could not parse "x" as version',
  ],
  [
    ['01.2'],
    ' None of the versions specified ["01.2"] are supported. err=could not find a highest supported version from versions ([01.2]) reported: illegal zero-prefixed version component "01" in "01.2"',
  ],
];
for (const [versions, want] of unsupported)
  test(`versionsFault: ${JSON.stringify(versions)}`, () =>
    expect(versionsFault('ValidatePlugin', 'd', versions)).toBe(`${prefix}${want}`));

test('a number that no Go integer can hold is no version', () => {
  expect(computeHighestVersion(['1.99999999999999999999'])).toMatchObject({
    fault: expect.stringContaining('value out of range'),
  });
});

test('a list of any length is read to a limit', () => {
  const versions = Array.from({ length: 100_000 }, () => '9'.repeat(100_000));
  const fault = versionsFault('ValidatePlugin', 'd', versions) ?? '';
  expect(fault.length).toBeLessThan(8_000);
});
