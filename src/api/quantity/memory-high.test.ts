import { expect, test } from 'vitest';
import { memoryHighBytes } from './memory-high.ts';

const cases = [
  ['between request and limit, in whole pages', 100n, 1000n, 0.5, 550n],
  ['rounded down to a page', 100n, 1000n, 0.55, 590n],
  ['a limit without a request', 0n, 1000n, 0.9, 900n],
  ['request equals limit: none', 1000n, 1000n, 0.9, undefined],
  ['an unknown limit: none', 0n, 0n, 0.9, undefined],
  ['no page between request and limit: none', 100n, 109n, 0.9, undefined],
] as const;

for (const [name, requestBytes, mostBytes, factor, want] of cases)
  test(`memoryHighBytes: ${name}`, () =>
    expect(memoryHighBytes({ requestBytes, mostBytes, factor, pageBytes: 10n })).toBe(want));
