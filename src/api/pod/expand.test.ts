import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { expandVariables, expansionLimitBytes } from './expand.ts';

const values: ReadonlyMap<string, string> = new Map([
  ['A', 'one'],
  ['EMPTY', ''],
  ['RE', '$(A)'],
  ['$(A', 'nested'],
  ['A b', 'blank'],
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
  ['$(', '$('],
  ['$$(', '$('],
  ['$$$(', '$$('],
  ['$)', '$)'],
  ['$()$', '$()$'],
  ['$(A$(A)', '$(A$(A)'],
  ['$($(A))', 'nested)'],
  ['$($(A', '$($(A'],
  ['$($(X))-$(A)', '$($(X))-one'],
  ['$(A$$', '$(A$'],
  ['$(A$(', '$(A$('],
  ['$($$)$(A)', '$($$)one'],
  ['$(A b)', 'blank'],
  ['$ (A)', '$ (A)'],
  ['$é$(A)', '$éone'],
  ['$🙂$(A)🙂', '$🙂one🙂'],
  ['$$$$$$(A)', '$$$(A)'],
  ['$(A))', 'one)'],
  ['\\$(A)', '\\one'],
])('%s → %s', (text, want) => expect(expandVariables(text, values)).toBe(want));

/** Upstream's implementation. */
function goExpand(input: string, mapping: (name: string) => string): string {
  let out = '';
  let checkpoint = 0;
  for (let cursor = 0; cursor < input.length; cursor += 1) {
    if (input[cursor] !== '$' || cursor + 1 >= input.length) continue;
    out += input.slice(checkpoint, cursor);
    const rest = input.slice(cursor + 1);
    const close = rest.indexOf(')');
    let advance = 1;
    if (rest.startsWith('$')) out += '$';
    else if (!rest.startsWith('(')) out += `$${rest[0]}`;
    else if (close < 0) out += '$(';
    else {
      out += mapping(rest.slice(1, close));
      advance = close + 1;
    }
    cursor += advance;
    checkpoint = cursor + 1;
  }
  return out + input.slice(checkpoint);
}

test('agrees with the implementation of upstream', () => {
  const text = fc.string({ unit: fc.constantFrom('$', '(', ')', 'A', 'b', '$(', '$(A)'), maxLength: 24 });
  fc.assert(
    fc.property(text, (given) => {
      expect(expandVariables(given, values)).toBe(
        goExpand(given, (name) => values.get(name) ?? `$(${name})`),
      );
    }),
    { seed: 18, numRuns: 10_000 },
  );
});

describe('hostile text', () => {
  // Searching for the closing parenthesis from each opening one would take hours.
  test.each(['$(', '$', '$$', '(', ')', '$()', '$($', '$(A'])(
    'expands two megabytes of %j in linear time',
    (part) => {
      const text = part.repeat(2_000_000 / part.length);
      expect(expandVariables(text, values).length).toBeLessThanOrEqual(text.length);
    },
  );
  test('stops at the limit', () => {
    const large = new Map([['A', 'x'.repeat(1024 * 1024)]]);
    expect(expandVariables('$(A)'.repeat(16), large)).toHaveLength(expansionLimitBytes);
    expect(() => expandVariables('$(A)'.repeat(17), large)).toThrow('take more than 16 MiB after expanding');
    expect(() => expandVariables('$(A)'.repeat(100_000), large)).toThrow(
      expect.objectContaining({ kind: 'invalid', reason: 'ExpansionTooLarge' }),
    );
  });
  test('counts bytes, not characters', () => {
    expect(() => expandVariables('$(A)', new Map([['A', 'é'.repeat(10)]]), 19)).toThrow('more than');
    expect(expandVariables('$(A)', new Map([['A', 'é'.repeat(10)]]), 20)).toHaveLength(10);
  });
});
