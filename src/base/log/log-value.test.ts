import { describe, expect, test } from 'vitest';
import { boundText, goQuote, safeJson, scalarText } from './log-value.ts';

describe('bounds a value of megabytes', () => {
  const megabyte = 1024 * 1024;
  const hostile: readonly (readonly [string, unknown])[] = [
    ['blanks', ' '.repeat(megabyte)],
    ['an error', new Error(' '.repeat(megabyte))],
    ['quotes', '"'.repeat(megabyte)],
    ['empty lists', Array.from({ length: megabyte }, () => [])],
    ['empty objects', Array.from({ length: megabyte }, () => ({}))],
    ['text in a list', Array(1_000).fill('\u0000'.repeat(10_000))],
    ['keys', Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`key-${at}`, {}]))],
    ['bytes', Buffer.alloc(megabyte)],
    ['its own toString', { toString: () => ' '.repeat(megabyte) }],
  ];
  test.each(hostile)('%s', (_name, value) => {
    expect(safeJson(value).length).toBeLessThan(100_000);
    expect(goQuote(boundText(scalarText(value) ?? '')).length).toBeLessThan(100_000);
  });
});
