import { describe, expect, test } from 'vitest';
import { Duration } from '../duration.ts';
import type { FlagType } from '../schema.ts';
import { readFlag } from './flag-values.ts';

/** Parses the texts in turn, as repeated uses of one flag. */
function read(type: FlagType, ...texts: readonly string[]): unknown {
  let value: unknown;
  for (const text of texts) {
    const parsed = readFlag(type, text, value, 'current');
    if ('problem' in parsed) return `problem: ${parsed.problem}`;
    value = parsed.value;
  }
  return value;
}

const cases: readonly (readonly [type: FlagType, texts: readonly string[], value: unknown])[] = [
  ['bool', ['T'], true],
  ['bool', ['0'], false],
  ['bool', ['yes'], 'problem: must be true or false'],
  ['int32', ['0x10'], 16],
  ['int32', ['0b11'], 3],
  ['int32', ['010'], 8],
  ['int32', ['0o17'], 15],
  ['int32', ['1_000'], 1000],
  ['int32', ['-2147483648'], -2147483648],
  ['int32', ['2147483648'], 'problem: must fit into 32 bits'],
  ['int32', ['1.5'], 'problem: must be an integer'],
  ['int32', ['08'], 'problem: must be an integer'],
  ['int', ['2147483648'], 2147483648],
  ['int', ['9223372036854775808'], 'problem: must fit into 64 bits'],
  ['string', ['a', 'b'], 'b'],
  ['ip', ['::1'], '::1'],
  ['ip', ['1.2.3.4'], '1.2.3.4'],
  ['ip', ['010.0.0.1'], '010.0.0.1'],
  ['ip', ['::ffff:1.2.3.4'], '::ffff:1.2.3.4'],
  ['ip', ['1.2.3'], 'problem: must be an IP address'],
  ['ip', ['1::2::3'], 'problem: must be an IP address'],
  ['ip', [''], 'current'],
  ['duration', ['1m30s'], Duration.ofMs(90_000)],
  ['quantity', ['1024Ki'], '1Mi'],
  ['quantity', ['x'], 'problem: must be a quantity such as 512, 1K or 2Ki'],
  ['strings', ['a,b', 'c'], ['a', 'b', 'c']],
  ['strings', ['"a,b",c'], ['a,b', 'c']],
  ['strings', ['"a""b"'], ['a"b']],
  ['strings', [''], []],
  ['strings', ['"a'], 'problem: has unbalanced quotes'],
  ['strings', ['a"b'], 'problem: has unbalanced quotes'],
  ['pairs', ['a=b, c = d ,', 'a=e'], { a: 'e', c: 'd' }],
  ['pairs', ['a'], 'problem: "a" does not have the form key=value'],
  ['pair', ['a=b,c=d'], { a: 'b,c=d' }],
  ['pair', ['a=b', 'c=d'], { a: 'b', c: 'd' }],
  ['thresholds', ['a<b,c<d'], { a: 'b', c: 'd' }],
  ['thresholds', ['a=b'], 'problem: "a=b" does not have the form key<value'],
  ['labels', ['a=b,c', 'd='], { a: 'b', c: '', d: '' }],
  ['labels', ['constructor=a'], { constructor: 'a' }],
  ['gates', ['A=true,B=f', 'C=1'], { A: true, B: false, C: true }],
  ['gates', ['A'], 'problem: "A" does not have the form Name=true or Name=false'],
  ['gates', ['A=on'], 'problem: the value of A must be true or false'],
  [
    'headers',
    ['a:hello,b:again,c:world', 'b:beautiful'],
    { a: ['hello'], b: ['again', 'beautiful'], c: ['world'] },
  ],
  ['headers', ['constructor:x'], { constructor: ['x'] }],
  ['headers', ['a'], 'problem: an entry does not have the form name:value'],
  ['taints', ['a=b:NoSchedule,c:NoExecute'], [taint('a', 'b', 'NoSchedule'), taint('c', '', 'NoExecute')]],
  ['taints', ['a:NoSchedule', 'b:NoSchedule'], [taint('b', '', 'NoSchedule')]],
  ['taints', ['a:NoSchedule-'], []],
  ['taints', [''], []],
  [
    'taints',
    ['a=b:Never'],
    'problem: "a=b:Never": the effect must be one of NoSchedule, PreferNoSchedule, NoExecute',
  ],
  ['taints', ['a'], 'problem: "a" has no taint effect'],
  ['taints', ['a:NoSchedule,a=b:NoSchedule'], 'problem: the taint a:NoSchedule is specified twice'],
  [
    'reserved-memory',
    ['0:memory=1024Mi,hugepages-1Gi=2Gi;1:memory=1Gi', '2:memory=1Gi'],
    [
      { numaNode: 0, limits: { memory: '1Gi', 'hugepages-1Gi': '2Gi' } },
      { numaNode: 1, limits: { memory: '1Gi' } },
      { numaNode: 2, limits: { memory: '1Gi' } },
    ],
  ],
  ['reserved-memory', ['x:memory=1Gi'], 'problem: "x" is not the number of a NUMA node'],
  ['reserved-memory', ['0:cpu=1'], 'problem: "cpu" is neither memory nor hugepages-<size>'],
  ['reserved-memory', ['0:memory=much'], 'problem: "much" is not a quantity'],
  ['reserved-memory', ['0'], 'problem: "0" does not have the form node:type=quantity,type=quantity'],
  ['level', ['10'], 10],
  ['level', ['2147483648'], 'problem: must be a number from 0 to 2147483647'],
  ['level', ['-1'], 'problem: must be a number from 0 to 2147483647'],
  ['version', ['raw'], 'raw'],
  ['version', ['true'], 'true'],
  ['version', ['what'], 'problem: must be true, false or raw'],
];

function taint(key: string, value: string, effect: string): unknown {
  return { key, value, effect, timeAdded: undefined };
}

describe('readFlag', () => {
  for (const [type, texts, value] of cases) {
    test(`parses ${type}: ${texts.join(' then ')}`, () => expect(read(type, ...texts)).toEqual(value));
  }

  test('vmodule extends the entries of the file', () => {
    const file = [{ filePattern: 'f', verbosity: 1 }];
    expect(readFlag('vmodule', 'a=2,b*=3', undefined, file)).toEqual({
      value: [...file, { filePattern: 'a', verbosity: 2 }, { filePattern: 'b*', verbosity: 3 }],
    });
    expect(readFlag('vmodule', 'a', undefined, [])).toEqual({
      problem: '"a" does not have the form pattern=N',
    });
  });
});

describe('Duration', () => {
  const texts: readonly (readonly [text: string, printed: string | undefined])[] = [
    ['0', '0s'],
    ['1s', '1s'],
    ['60s', '1m0s'],
    ['90m', '1h30m0s'],
    ['2m', '2m0s'],
    ['1.5s', '1.5s'],
    ['100ms', '100ms'],
    ['1.5ms', '1.5ms'],
    ['1us', '1µs'],
    ['1µs', '1µs'],
    ['1500ns', '1.5µs'],
    ['1ns', '1ns'],
    ['-1m', '-1m0s'],
    ['+5s', '5s'],
    ['.5s', '500ms'],
    ['1h1m1.001s', '1h1m1.001s'],
    ['2540400h10m10.000000000s', '2540400h10m10s'],
    ['0.0000000001s', '0s'],
    ['', undefined],
    ['5', undefined],
    ['s', undefined],
    ['1 s', undefined],
    ['1d', undefined],
    ['.s', undefined],
    ['3000000h', undefined],
  ];
  for (const [text, printed] of texts) {
    test(`parses and prints ${text} as ${printed}`, () =>
      expect(Duration.parse(text)?.toString()).toBe(printed));
  }

  test('converts to milliseconds, and prints a bare number of nanoseconds as such', () => {
    expect([
      Duration.parse('1m')?.ms,
      Duration.parse('1m')?.seconds,
      new Duration(5n, true).toJSON(),
    ]).toEqual([60_000, 60, 5]);
  });
});
