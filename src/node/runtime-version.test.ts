import { expect, test } from 'vitest';
import { runtimeVersion } from './runtime-version.ts';

const cases: readonly (readonly [string, string | undefined])[] = [
  ['1.6.20', '1.6.20'],
  ['v2.0.1', '2.0.1'],
  ['1.6.20~ds1', '1.6.20'],
  ['2.0.0-rc.3', '2.0.0-rc.3'],
  ['1.7.1-k3s1', '1.7.1-k3s1'],
  ['1.7.27+build.5', '1.7.27+build.5'],
  ['1.5.0-beta.0-69-gb3f240206', '1.5.0-beta.0-69-gb3f240206'],
  ['1.7.0-01', '1.7.0'],
  ['1.06.2', '1.6.2'],
  ['1.31', '1.31'],
  ['1.2.3.4-x', '1.2.3.4'],
  ['7', undefined],
  ['01.2', undefined],
  ['dev', undefined],
  ['', undefined],
];
for (const [text, version] of cases)
  test(`runtimeVersion: ${JSON.stringify(text)} → ${version}`, () =>
    expect(runtimeVersion(text)).toBe(version));
