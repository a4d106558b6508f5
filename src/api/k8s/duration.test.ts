import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isKind } from '../../base/errors.ts';
import { durationMs, formatDuration, formatDurationMs, parseDuration } from './duration.ts';

const us = 1_000n;
const ms = 1_000_000n;
const s = 1_000_000_000n;
const m = 60n * s;
const h = 60n * m;
const max = 2n ** 63n - 1n;

describe('parseDuration', () => {
  const cases: ReadonlyArray<readonly [string, bigint]> = [
    ['0', 0n],
    ['+0', 0n],
    ['-0', 0n],
    ['0s', 0n],
    ['5s', 5n * s],
    ['30s', 30n * s],
    ['1478s', 1478n * s],
    ['+5s', 5n * s],
    ['-5s', -5n * s],
    ['5.0s', 5n * s],
    ['5.6s', 5600n * ms],
    ['5.s', 5n * s],
    ['.5s', 500n * ms],
    ['-.5s', -500n * ms],
    ['1.0s', s],
    ['1.004s', 1004n * ms],
    ['1.0040s', 1004n * ms],
    ['100.00100s', 100n * s + ms],
    ['10ns', 10n],
    ['11us', 11n * us],
    ['12µs', 12n * us],
    ['12μs', 12n * us],
    ['13ms', 13n * ms],
    ['14s', 14n * s],
    ['15m', 15n * m],
    ['16h', 16n * h],
    ['-1.5h', -90n * m],
    ['3h30m', 3n * h + 30n * m],
    ['10.5s4m', 4n * m + 10500n * ms],
    ['-2m3.4s', -(2n * m + 3400n * ms)],
    ['1h2m3s4ms5us6ns', h + 2n * m + 3n * s + 4n * ms + 5n * us + 6n],
    ['39h9m14.425s', 39n * h + 9n * m + 14425n * ms],
    ['52763797000ns', 52763797000n],
    // Not a whole number of nanoseconds.
    ['0.1ns', 0n],
    ['1.9ns', 1n],
    ['0.3333333333333333333h', 20n * m],
    ['0.100000000000000000000h', 6n * m],
    ['0.9223372036854775807h', 55n * m + 20n * s + 413933267n],
    ['0.830103483285477580700h', 49n * m + 48n * s + 372539827n],
    // The limits of int64.
    ['9007199254740993ns', 9007199254740993n],
    ['9223372036854775807ns', max],
    ['9223372036854775.807us', max],
    ['9223372036s854ms775us807ns', max],
    ['-9223372036854775808ns', -max - 1n],
    ['-9223372036854775.808us', -max - 1n],
    ['-9223372036s854ms775us808ns', -max - 1n],
    ['-2562047h47m16.854775808s', -max - 1n],
  ];
  test.each(cases)('%s', (text, want) => {
    expect(parseDuration(text)).toBe(want);
  });

  const missing = ['', '+', '-', '3', '-3', '.', '-.', '.s', '+.s', 's', '1m3', '1.5', '00'];
  const unknown = ['1d', '1S', '1 s', ' 1s', '1s ', '1sm', '1,5s', '1e3s', '--1s', '\u0085', 'hello', 'ns1'];
  const tooLong = [
    '9223372036854775810ns',
    '9223372036854775808ns',
    '-9223372036854775809ns',
    '9223372036854776us',
    '3000000h',
    '9223372036854775.808us',
    '9223372036854ms775us808ns',
    `${'9'.repeat(300)}h`,
  ];
  test.each([...missing, ...unknown, ...tooLong])('rejects %j', (text) => {
    let caught: unknown;
    try {
      parseDuration(text);
    } catch (err) {
      caught = err;
    }
    expect(isKind(caught, 'invalid')).toBe(true);
  });
});

describe('formatDuration', () => {
  const cases: ReadonlyArray<readonly [bigint, string]> = [
    [0n, '0s'],
    [1n, '1ns'],
    [999n, '999ns'],
    [us, '1µs'],
    [1100n, '1.1µs'],
    [100n * ms, '100ms'],
    [2200n * us, '2.2ms'],
    [1500n * ms, '1.5s'],
    [3300n * ms, '3.3s'],
    [10n * s, '10s'],
    [m, '1m0s'],
    [2n * m, '2m0s'],
    [4n * m + 5n * s, '4m5s'],
    [4n * m + 5001n * ms, '4m5.001s'],
    [h, '1h0m0s'],
    [5n * h + 6n * m + 7001n * ms, '5h6m7.001s'],
    [8n * m + 1n, '8m0.000000001s'],
    [24n * h, '24h0m0s'],
    [max, '2562047h47m16.854775807s'],
  ];
  test.each(cases)('formats %d as %s', (ns, want) => {
    expect(formatDuration(ns)).toBe(want);
    if (ns !== 0n) expect(formatDuration(-ns)).toBe(`-${want}`);
  });
  test('formats the smallest int64', () => {
    expect(formatDuration(-max - 1n)).toBe('-2562047h47m16.854775808s');
  });
  test('parses its own output', () => {
    fc.assert(
      fc.property(fc.bigInt(-max - 1n, max), (ns) => {
        expect(parseDuration(formatDuration(ns))).toBe(ns);
      }),
    );
    fc.assert(
      fc.property(fc.bigInt(-10n * s, 10n * s), (ns) => {
        expect(parseDuration(formatDuration(ns))).toBe(ns);
      }),
    );
  });
});

test('converts milliseconds', () => {
  expect(['1m30s', '1.5s', '1500us', '-1s'].map((text) => durationMs(text))).toEqual([
    90000, 1500, 1.5, -1000,
  ]);
  expect(durationMs(2_000_000n)).toBe(2);
  expect([90000, 0, 1.5, 123003].map((value) => formatDurationMs(value))).toEqual([
    '1m30s',
    '0s',
    '1.5ms',
    '2m3.003s',
  ]);
});
