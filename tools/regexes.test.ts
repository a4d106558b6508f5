import { describe, expect, test } from 'vitest';
import { attacksOn } from './regex-attacks.ts';
import { checkRegexes } from './regexes.ts';

const faultsOf = (text: string, path = 'src/pods/a.ts'): Promise<readonly string[]> =>
  checkRegexes([{ path, text }]);

describe('finds what takes more than linear time', () => {
  test.each([
    // The three that stopped the kubelet.
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

test('accepts what is linear', async () => {
  const fine = [
    String.raw`/\s+/g`,
    String.raw`/^\s*v?(\d+)$/`,
    String.raw`/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/`,
    String.raw`/[ \t]*(?:(?<symbol>==|!=)|(?<word>[^ \t=!]+))/y`,
    '/a{1,20}b/',
  ];
  expect(await faultsOf(fine.map((each) => `use(${each});`).join('\n'))).toEqual([]);
});

describe('what a file says of its patterns', () => {
  test('a bound on the text is believed, and tried', async () => {
    expect(await faultsOf('// regex-bound: 63, a host name\nuse(/-+$/);')).toEqual([]);
    expect(await faultsOf('use(/-+$/); // regex-bound: 63, a host name')).toEqual([]);
    const hard = '// regex-bound: 63, a host name\nuse(/^(a+)+$/);';
    expect(await checkRegexes([{ path: 'src/pods/a.ts', text: hard }], 60)).toHaveLength(1);
  });
  test('a bound that is none is refused', async () => {
    for (const bound of ['1000000, a file', '63', 'short'])
      expect((await faultsOf(`// regex-bound: ${bound}\nuse(/a/);`))[0]).toContain(
        'regex-bound is to be a number',
      );
  });
  test('a pattern that is made at run time needs a reason', async () => {
    const fault = [
      'src/pods/a.ts:1: write the pattern as a literal, or say in // regex-made: why it is safe',
    ];
    expect(await faultsOf('new RegExp(text)')).toEqual(fault);
    expect(await faultsOf('RegExp(text)')).toEqual(fault);
    expect(await faultsOf('// regex-made: never run\nnew RegExp(text)')).toEqual([]);
  });
  test('tests, generated files and fixtures are left alone', async () => {
    for (const path of [
      'src/pods/a.test.ts',
      'test/fakes/a.ts',
      'src/api/generated/a.ts',
      'src/node/fixtures/a.ts',
    ])
      expect(await faultsOf('use(/^(a+)+$/, new RegExp(x))', path)).toEqual([]);
  });
});

test('where nothing repeats there is nothing to try', () => {
  expect(attacksOn(String.raw`^[+-]?\d{1,19}$`, '')).toEqual([]);
  expect(attacksOn('a*', '')).not.toEqual([]);
});
