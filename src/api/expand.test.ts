import { expect, test } from 'vitest';
import { expandVariables } from './expand.ts';

const values: ReadonlyMap<string, string> = new Map([
  ['A', 'one'],
  ['EMPTY', ''],
  ['RE', '$(A)'],
]);
test.each([
  ['$(A)', 'one'],
  ['$(A)$(A)-', 'oneone-'],
  ['$(EMPTY)', ''],
  ['$(NONE)', '$(NONE)'],
  ['$()', '$()'],
  ['$(RE)', '$(A)'],
  ['$$', '$'],
  ['$$(A)', '$(A)'],
  ['$$$(A)', '$one'],
  ['$$$$', '$$'],
  ['$A', '$A'],
  ['$', '$'],
  ['$(A', '$(A'],
  ['a$(A)$', 'aone$'],
  ['', ''],
])('%s → %s', (text, want) => expect(expandVariables(text, values)).toBe(want));
