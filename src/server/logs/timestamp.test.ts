import { expect, test } from 'vitest';
import { formatTimestamp, instantOfMs, parseInstant, TimestampReader } from './timestamp.ts';

const readable: readonly (readonly [text: string, shown: string])[] = [
  ['2016-10-06T00:17:09.669794202Z', '2016-10-06T00:17:09.669794202Z'],
  ['2016-10-06T00:17:09.66979Z', '2016-10-06T00:17:09.669790000Z'],
  ['2016-10-06T00:17:09Z', '2016-10-06T00:17:09.000000000Z'],
  ['2016-10-06T00:17:09,5Z', '2016-10-06T00:17:09.500000000Z'],
  ['2016-10-06T00:17:09.1234567891Z', '2016-10-06T00:17:09.123456789Z'],
  ['2024-02-29T23:59:59.000000001+02:00', '2024-02-29T23:59:59.000000001+02:00'],
  ['2024-02-29T23:59:59.000000001-05:30', '2024-02-29T23:59:59.000000001-05:30'],
  ['2024-02-29T23:59:59.000000001+00:00', '2024-02-29T23:59:59.000000001Z'],
  ['1969-12-31T23:59:59.25Z', '1969-12-31T23:59:59.250000000Z'],
  ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000000000Z'],
];

for (const [text, shown] of readable) {
  test(`parses ${text} and formats it with nine decimals`, () => {
    const bytes = Buffer.from(`x${text} y`);
    const reader = new TimestampReader();
    expect(reader.read(bytes, 1, 1 + text.length)).toBe(true);
    expect(formatTimestamp(reader)).toBe(shown);
    expect(reader.isFixedWidth).toBe(text === shown);
    const ms = Date.parse(text.replace(',', '.').replace(/(\.\d{3})\d+/, '$1'));
    expect(reader.seconds).toBe(Math.floor(ms / 1000));
  });
}

const unreadable = [
  '',
  '2016-10-06',
  '2016-10-06T00:17:09',
  '2016-13-06T00:17:09Z',
  '2016-02-30T00:17:09Z',
  '2023-02-29T00:17:09Z',
  '2016-10-06T24:17:09Z',
  '2016-10-06T00:60:09Z',
  '2016-10-06T00:17:60Z',
  '2016-10-06T00:17:09.Z',
  '2016-10-06T00:17:09.5',
  '2016-10-06T00:17:09.5+0200',
  '2016-10-06 00:17:09.5Z',
  '2016-10-06T00:17:09.5Zx',
  'xxxx-10-06T00:17:09.5Z',
];

for (const text of unreadable) {
  test(`rejects "${text}"`, () => expect(parseInstant(text)).toBeUndefined());
}

test('compares times to the nanosecond', () => {
  const reader = new TimestampReader();
  const bytes = Buffer.from('2016-10-06T00:17:09.000000002Z');
  reader.read(bytes, 0, bytes.length);
  const { seconds } = reader;
  const before = (nanos: number, by = 0): boolean => reader.isBefore({ seconds: seconds + by, nanos });
  expect([before(1), before(2), before(3), before(0, 1), before(9, -1)]).toEqual([
    false,
    false,
    true,
    true,
    false,
  ]);
});

test('converts milliseconds, also before the epoch', () => {
  expect([instantOfMs(1_500), instantOfMs(-250)]).toEqual([
    { seconds: 1, nanos: 500_000_000 },
    { seconds: -1, nanos: 750_000_000 },
  ]);
});
