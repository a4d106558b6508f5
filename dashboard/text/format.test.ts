import { describe, expect, test } from 'vitest';
import {
  age,
  bytes,
  cores,
  count,
  cpuMillis,
  duration,
  isoTime,
  percent,
  plural,
  timeOfDay,
} from './format.ts';

describe('format', () => {
  test.each([
    [0, '0 B'],
    [999, '999 B'],
    [1000, '0.98 KiB'],
    [73_400_320, '70.0 MiB'],
    [1_073_741_824, '1.00 GiB'],
    [25_769_803_776, '24.0 GiB'],
    [null, '–'],
    [undefined, '–'],
    [Number.NaN, '–'],
  ])('writes %s bytes as %s', (value, want) => {
    expect(bytes(value)).toBe(want);
  });

  test.each([
    [0, '0m'],
    [0.04, '0.1m'],
    [3.21, '3.2m'],
    [120.4, '120m'],
    [4000, '4000m'],
    [null, '–'],
  ])('writes %s thousandths of a core as %s', (value, want) => {
    expect(cpuMillis(value)).toBe(want);
  });

  test.each([
    [0, '0s'],
    [119_000, '119s'],
    [120_000, '2m'],
    [192_000, '3m12s'],
    [3_600_000, '60m'],
    [4 * 3_600_000 + 5 * 60_000, '4h5m'],
    [9 * 3_600_000, '9h'],
    [3 * 86_400_000 + 4 * 3_600_000, '3d4h'],
    [12 * 86_400_000, '12d'],
    [-5, '0s'],
    [undefined, '–'],
  ])('writes an age of %s ms as %s', (value, want) => {
    expect(age(value)).toBe(want);
  });

  test.each([
    [0.2, '<1 ms'],
    [340, '340 ms'],
    [2_410, '2.41 s'],
    [12_340, '12.3 s'],
    [72_000, '1 min 12 s'],
    [3_723_000, '1 h 2 min'],
  ])('writes a duration of %s ms as %s', (value, want) => {
    expect(duration(value)).toBe(want);
  });

  test('writes cores, counts, percentages and plurals', () => {
    expect([cores(1240), cores(64_000), count(32768), percent(1, 3), percent(1, 200), percent(1, 0)]).toEqual(
      ['1.24', '64.0', '32,768', '33 %', '0.5 %', '–'],
    );
    expect([plural(1, 'pod'), plural(2, 'pod'), plural(2, 'entry', 'entries')]).toEqual([
      '1 pod',
      '2 pods',
      '2 entries',
    ]);
  });

  test('leaves out the date on the same day', () => {
    const at = new Date(2026, 1, 3, 4, 5, 6).getTime();
    expect(timeOfDay(at, at + 1000)).toBe('04:05:06');
    expect(timeOfDay(at, at + 86_400_000)).toBe('2026-02-03 04:05:06');
    expect(timeOfDay(Number.NaN, at)).toBe('–');
    expect([isoTime(undefined), isoTime(Number.NaN), isoTime(0)]).toEqual([
      '',
      '',
      '1970-01-01T00:00:00.000Z',
    ]);
  });
});
