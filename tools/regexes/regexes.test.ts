import { describe, expect, test } from 'vitest';
import { attacksOn } from './attacks.ts';
import { checkRegexes } from './regexes.ts';

const faultsOf = (text: string, path = 'src/pods/a.ts'): Promise<readonly string[]> =>
  checkRegexes([{ path, text }]);

describe('reports a pattern that takes more than linear time', () => {
  test.each([
    // The first three once blocked the kubelet's event loop.
    String.raw`text.replace(/\s*[\r\n\u2028\u2029]+\s*/g, ' ')`,
    String.raw`const p = /^(?:[^/]*a[^/]*a[^/]*a[^/]*b)$/su;`,
    String.raw`text.replace(/\$(\$|\(([^)]*)\))/g, f)`,
    '/x+$/.test(text)',
    String.raw`/^\n+|\n+$/g.test(text)`,
    '/^(a+)+$/.test(text)',
    '/^(a|a)*$/.test(text)',
    String.raw`/-----BEGIN ([^\n-]+)-----\n([^]*?)-----END \1-----/g.test(text)`,
    String.raw`/"([^"\\]|\\.|\\)*"$/.test(text)`,
    '/(?<=.*x)y/.test(text)',
  ])('%s', async (text) => {
    const [fault, ...more] = await checkRegexes([{ path: 'src/pods/a.ts', text }], 60);
    expect(fault).toMatch(/^src\/pods\/a\.ts:1: .* takes more than linear time on /);
    expect(more).toEqual([]);
  });
});

test('accepts linear patterns', async () => {
  const fine = [
    String.raw`/\s+/g`,
    String.raw`/^\s*v?(\d+)$/`,
    String.raw`/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/`,
    String.raw`/[ \t]*(?:(?<symbol>==|!=)|(?<word>[^ \t=!]+))/y`,
    '/a{1,20}b/',
  ];
  expect(await faultsOf(fine.map((each) => `use(${each});`).join('\n'))).toEqual([]);
});

describe('marker comments', () => {
  test('limit the length of the hostile text to the bound', async () => {
    expect(await faultsOf('// regex-bound: 63, a host name\nuse(/-+$/);')).toEqual([]);
    expect(await faultsOf('use(/-+$/); // regex-bound: 63, a host name')).toEqual([]);
    const hard = '// regex-bound: 63, a host name\nuse(/^(a+)+$/);';
    expect(await checkRegexes([{ path: 'src/pods/a.ts', text: hard }], 60)).toHaveLength(1);
  });
  test('are rejected without a valid bound', async () => {
    for (const bound of ['1000000, a file', '63', 'short'])
      expect((await faultsOf(`// regex-bound: ${bound}\nuse(/a/);`))[0]).toContain(
        'regex-bound must be a number',
      );
  });
  test('are required with a reason for patterns built at run time', async () => {
    const fault = [
      'src/pods/a.ts:1: write the pattern as a literal, or give the reason why it is safe in // regex-made:',
    ];
    expect(await faultsOf('new RegExp(text)')).toEqual(fault);
    expect(await faultsOf('RegExp(text)')).toEqual(fault);
    expect(await faultsOf('// regex-made: never run\nnew RegExp(text)')).toEqual([]);
  });
  test('are not required in tests, generated files and fixtures', async () => {
    for (const path of [
      'src/pods/a.test.ts',
      'test/fakes/a.ts',
      'src/api/generated/a.ts',
      'src/node/fixtures/a.ts',
    ])
      expect(await faultsOf('use(/^(a+)+$/, new RegExp(x))', path)).toEqual([]);
  });
});

test('generates no attacks on a pattern without repetition', () => {
  expect(attacksOn(String.raw`^[+-]?\d{1,19}$`, '')).toEqual([]);
  expect(attacksOn('a*', '')).not.toEqual([]);
});
