import { describe, expect, test } from 'vitest';
import { copyrightFile, leadingComment } from './licenses.ts';

describe('copyrightFile', () => {
  test('has the text of every package', () => {
    const text = copyrightFile([
      { name: 'a', version: '1', license: 'MIT', text: 'Permission is granted.\n' },
      { name: 'b', version: '2', license: 'Apache-2.0', text: undefined },
    ]);
    expect(text).toContain('a 1, MIT\n\nPermission is granted.\n');
    expect(text).toContain('b 2, Apache-2.0\n\nThe Apache License 2.0 is in');
  });

  test('fails if the text of a licence is missing', () => {
    const unknown = { name: 'a', version: '1', license: 'MIT', text: undefined };
    expect(() => copyrightFile([unknown])).toThrow('the package a has no licence file');
  });
});

test('leadingComment ends at the first line of code', () => {
  expect(leadingComment('// Copyright\n//\n// Text\nexport {};\n// later')).toBe('Copyright\n\nText');
  expect(leadingComment('// all')).toBe('all');
  expect(leadingComment('export {};')).toBe('');
});
