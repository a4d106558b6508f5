import { expect, test } from 'vitest';
import { fnv1a32, fnv1a128 } from './fnv.ts';

// From Go's hash/fnv.
test.each([
  ['', '811c9dc5', '6c62272e07bb014262b821756295c58d'],
  ['a', 'e40c292c', 'd228cb696f1a8caf78912b704e4a8964'],
  ['ab', '4d2505ca', '08809544bbab1be95aa0733055b69a62'],
  ['abc', '1a47e90b', 'a68d622cec8b5822836dbc7977af7f3b'],
])('FNV-1a of %j', (text, bits32, bits128) => {
  expect(fnv1a32(text).toString(16)).toBe(bits32);
  expect(fnv1a128(text)).toBe(bits128);
});
