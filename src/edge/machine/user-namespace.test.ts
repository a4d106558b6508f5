import { expect, test } from 'vitest';
import { mapsToUserNamespace } from './user-namespace.ts';

const cases = [
  ['the initial namespace', '         0          0 4294967295\n', false],
  ['a rootless container', '         0       1000          1\n         1     100000      65536\n', true],
  ['all IDs, shifted', '0 100000 4294967295\n', true],
  ['a part of the IDs', '0 0 65536\n', true],
  ['no mapping yet', '', true],
] as const;
for (const [name, map, want] of cases)
  test(`detects ${name}`, () => expect(mapsToUserNamespace(map)).toBe(want));
