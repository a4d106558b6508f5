import { expect, test } from 'vitest';
import { laterObject } from './resource-version.ts';

const at = (resourceVersion: string, uid = 'u') => ({ metadata: { uid, resourceVersion } });

const cases = [
  ['without a write: the watched one', at('5'), undefined, '5'],
  ['the write is later', at('9'), at('10'), '10'],
  ['the watch has caught up', at('10'), at('10'), '10'],
  ['another client wrote later', at('11'), at('10'), '11'],
  ['another object of the same name', at('3', 'v'), at('10'), '3'],
  ['versions that are not numbers: the watched one', at('a'), at('b'), 'a'],
] as const;

for (const [name, watched, written, want] of cases)
  test(`laterObject: ${name}`, () =>
    expect(laterObject(watched, written).metadata.resourceVersion).toBe(want));
