import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { type Logger, type LogWriterOptions, silentLogger, Verbosity } from './log.ts';
import { jsonLogger } from './log-json.ts';
import { textLogger } from './log-text.ts';
import { Secret } from './secret.ts';

/** Local time, as in the text format, so that the test passes in any time zone. */
const startMs = new Date(2026, 10, 5, 1, 2, 3, 45).getTime();

function setUp(make: (options: LogWriterOptions) => Logger, level = 0) {
  const lines: string[] = [];
  const clock = new FakeClock(startMs);
  const verbosity = new Verbosity(level);
  const log = make({ write: (line) => void lines.push(line), clock, verbosity, pid: 12345 });
  return { lines, clock, verbosity, log };
}

const circle: { name: string; list: unknown[] } = { name: 'c', list: [] };
circle.list.push(circle);
const twice = { a: 1 };

const header = '1105 01:02:03.045000   12345 kubelet] ';

describe('textLogger', () => {
  test.each([
    ['info', `I${header}"Started"\n`],
    ['warn', `W${header}"Started"\n`],
    ['error', `E${header}"Started"\n`],
  ] as const)('the header of %s', (severity, want) => {
    const { lines, log } = setUp(textLogger);
    log[severity]('Started');
    expect(lines).toEqual([want]);
  });

  test('prints the time of each entry', async () => {
    const { lines, clock, log } = setUp(textLogger);
    await clock.advance(0.25);
    log.info('a');
    await clock.advance(60_000);
    log.info('b');
    expect(lines.map((line) => line.slice(0, 21))).toEqual([
      'I1105 01:02:03.045250',
      'I1105 01:03:03.045250',
    ]);
  });

  test('prints the component in the header, not as a field', () => {
    const { lines, log } = setUp(textLogger);
    log.with({ component: 'pleg', pod: 'ns/a' }).info('x', { component: 'call' });
    expect(lines[0]).toMatch(/ pleg\] "x" pod="ns\/a" component="call"\n$/);
  });

  test('prints the error first in an error entry', () => {
    const { lines, log } = setUp(textLogger);
    log.error('Failed', { pod: 'ns/a', err: new Error('no', { cause: new Error('disk full') }) });
    expect(lines[0]).toBe(`E${header}"Failed" err="no: disk full" pod="ns/a"\n`);
  });

  const values: [string, unknown, string][] = [
    ['text', 'a "b" \\ c', String.raw`k="a \"b\" \\ c"`],
    ['empty text', '', 'k=""'],
    [
      'control characters',
      'tab\t bell\u0007 esc\u001b del\u007f',
      String.raw`k="tab\t bell\a esc\x1b del\x7f"`,
    ],
    ['non-ASCII letters', 'Grüße 世界 🚀', 'k="Grüße 世界 🚀"'],
    ['invisible characters', '\u200b\u00a0\u{e0001}', String.raw`k="\u200b\u00a0\U000e0001"`],
    ['a lone surrogate', '\ud800', String.raw`k="\ufffd"`],
    ['several lines', 'a\nb "c"', 'k=<\n\ta\n\tb "c"\n >'],
    ['several lines with an end', 'a\nb\n', 'k=<\n\ta\n\tb\n >'],
    ['a number', 1.5, 'k=1.5'],
    ['NaN', Number.NaN, 'k=NaN'],
    ['a bigint', 2n ** 64n, 'k=18446744073709551616'],
    ['a boolean', true, 'k=true'],
    ['null', null, 'k=<nil>'],
    ['an error', new TypeError('bad'), 'k="bad"'],
    ['a date', new Date(0), 'k="1970-01-01T00:00:00.000Z"'],
    ['an invalid date', new Date(Number.NaN), 'k="Invalid Date"'],
    ['bytes', Buffer.from('secret'), 'k="<6 bytes>"'],
    ['an object', { a: 1, b: ['x', null], c: undefined }, 'k={"a":1,"b":["x",null]}'],
    ['an object without prototype', Object.assign(Object.create(null), { a: 1 }), 'k={"a":1}'],
    ['a map and a set', { m: new Map([['a', 1]]), s: new Set([2]) }, 'k={"m":{"a":1},"s":[2]}'],
    ['an object with its own toString', new URL('http://a/b'), 'k="http://a/b"'],
    ['a cycle', circle, 'k={"name":"c","list":["<cycle>"]}'],
    ['the same object twice without a cycle', [twice, twice], 'k=[{"a":1},{"a":1}]'],
    ['a function', () => 1, 'k="<function>"'],
    ['a symbol', Symbol('s'), 'k="Symbol(s)"'],
    ['a secret', new Secret('hunter2'), 'k="--- masked ---"'],
    [
      'a nested secret',
      { list: [{ token: new Secret('hunter2') }] },
      'k={"list":[{"token":"--- masked ---"}]}',
    ],
  ];
  test.each(values)('value: %s', (_name, value, want) => {
    const { lines, log } = setUp(textLogger);
    log.info('x', { k: value });
    expect(lines).toEqual([`I${header}"x" ${want}\n`]);
  });

  test('omits undefined fields', () => {
    const { lines, log } = setUp(textLogger);
    log.info('x', { a: undefined, b: 1 });
    expect(lines).toEqual([`I${header}"x" b=1\n`]);
  });
});

describe('jsonLogger', () => {
  test('prints an entry with fields', () => {
    const { lines, log } = setUp(jsonLogger);
    log.info('test', { ns: 'default', podnum: 2 });
    expect(lines).toEqual([`{"ts":${startMs},"msg":"test","v":0,"ns":"default","podnum":2}\n`]);
  });

  test('prints the level, the component as logger and a warning as level 0', () => {
    const { lines, log } = setUp(jsonLogger, 4);
    log.with({ component: 'pleg' }).v(4).info('deep');
    log.warn('careful');
    expect(lines).toEqual([
      `{"ts":${startMs},"logger":"pleg","msg":"deep","v":4}\n`,
      `{"ts":${startMs},"msg":"careful","v":0}\n`,
    ]);
  });

  test('prints the error as a string and no level in an error entry', () => {
    const { lines, log } = setUp(jsonLogger);
    log.error('Failed', { ns: 'default', err: new Error('invalid "namespace"') });
    expect(lines).toEqual([
      `{"ts":${startMs},"msg":"Failed","ns":"default","err":"invalid \\"namespace\\""}\n`,
    ]);
  });

  const values: [string, unknown, unknown][] = [
    ['text of several lines', 'a\nb', 'a\nb'],
    ['a lone surrogate', '\ud800', '\ud800'],
    ['NaN', Number.NaN, 'NaN'],
    ['infinity', Number.NEGATIVE_INFINITY, '-Infinity'],
    ['a bigint', 42n, 42],
    ['null', null, null],
    ['an object', { a: [1, { b: 'c' }] }, { a: [1, { b: 'c' }] }],
    ['undefined in a list', [undefined, 1], [null, 1]],
    ['a nested error', { errs: [new Error('no')] }, { errs: ['no'] }],
    ['something with toJSON', { toJSON: () => ({ kept: true }) }, { kept: true }],
    ['a nested secret', [new Secret({ deep: 'hunter2' })], ['--- masked ---']],
  ];
  test.each(values)('value: %s', (_name, value, want) => {
    const { lines, log } = setUp(jsonLogger);
    log.info('x', { k: value });
    expect((JSON.parse(lines[0] ?? '') as { k: unknown }).k).toEqual(want);
  });
});

describe.each([
  ['textLogger', textLogger],
  ['jsonLogger', jsonLogger],
])('%s', (_name, make) => {
  test('v() follows changes of the verbosity', () => {
    const { lines, log, verbosity } = setUp(make, 2);
    const levels = [0, 2, 3];
    expect(levels.map((level) => log.v(level).enabled)).toEqual([true, true, false]);
    for (const level of levels) log.v(level).info(`at ${level}`);
    expect(lines).toHaveLength(2);
    verbosity.set(3);
    log.with({ a: 1 }).v(3).info('now');
    expect(lines).toHaveLength(3);
  });

  test('with() adds fields, and later keys replace earlier ones', () => {
    const { lines, log } = setUp(make);
    log.with({ a: 'one', b: 'two' }).with({ b: 'three' }).info('x', { a: 'four', c: 'five' });
    const line = lines[0] ?? '';
    expect(['one', 'two', 'three', 'four', 'five'].filter((word) => line.includes(word))).toEqual([
      'three',
      'four',
      'five',
    ]);
  });

  const throwing = {
    ok: 1,
    get bad(): never {
      throw new Error('getter');
    },
  };
  const hostile: [string, unknown][] = [
    ['a cycle', circle],
    ['a getter that throws', throwing],
    [
      'toJSON that throws',
      {
        toJSON() {
          throw new Error('toJSON');
        },
      },
    ],
    [
      'toString that throws',
      {
        toString() {
          throw new Error('toString');
        },
      },
    ],
    ['toString without a string', { toString: () => 7 }],
    [
      'endless toJSON',
      (function endless(): object {
        return { toJSON: endless };
      })(),
    ],
    [
      'a proxy that throws on every access',
      new Proxy(
        {},
        {
          get: () => {
            throw new Error('get');
          },
          ownKeys: () => {
            throw new Error('ownKeys');
          },
          getPrototypeOf: () => {
            throw new Error('getPrototypeOf');
          },
        },
      ),
    ],
    ['nested bigints', { n: 1n }],
  ];
  test.each(hostile)('writes the entry and does not throw on %s', (_case, value) => {
    const { lines, log } = setUp(make);
    log.info('still here', { k: value, after: 'x' });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('still here');
    expect(lines[0]).toContain('after');
    if (make === jsonLogger) expect(() => JSON.parse(lines[0] ?? '') as unknown).not.toThrow();
  });

  test('loses only the field whose getter throws', () => {
    const { lines, log } = setUp(make);
    log.info('x', throwing);
    log.with(throwing).info('x');
    for (const line of lines) {
      expect(line).toContain('ok');
      expect(line).toContain('panic');
    }
    expect(lines).toHaveLength(2);
  });

  test('does not throw on a message or fields of a wrong type', () => {
    const { log } = setUp(make);
    expect(() => log.info(undefined as unknown as string)).not.toThrow();
    expect(() => log.info('x', null as unknown as undefined)).not.toThrow();
  });

  test('ignores a writer that throws', () => {
    const log = make({
      write: () => {
        throw new Error('EPIPE');
      },
      clock: new FakeClock(),
      verbosity: new Verbosity(0),
      pid: 1,
    });
    expect(() => log.info('x')).not.toThrow();
  });

  const wide = Object.fromEntries(
    Array.from({ length: 10_000 }, (_, i) => [`key${i}`, { value: 'v'.repeat(50) }]),
  );
  const longKeys = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`${i}${'k'.repeat(1000)}`, 1]));
  let deep: unknown = 'bottom';
  for (let i = 0; i < 5000; i++) deep = { deep };
  test.each([
    ['text', 'x'.repeat(1_000_000)],
    ['a message of an error', new Error('x'.repeat(1_000_000))],
    ['a list', Array.from({ length: 1_000_000 }, (_, i) => i)],
    ['an object', wide],
    ['a key', { ['k'.repeat(1_000_000)]: 1 }],
    ['many long keys', longKeys],
    ['nesting', deep],
  ])('bounds very long values: %s', (_case, value) => {
    const { lines, log } = setUp(make);
    log.info('x', { k: value });
    expect(lines).toHaveLength(1);
    expect(lines[0]?.length).toBeLessThan(40_000);
    if (make === jsonLogger) expect(() => JSON.parse(lines[0] ?? '') as unknown).not.toThrow();
  });
});

test('Secret never prints its value', async () => {
  const { inspect } = await import('node:util');
  const secret = new Secret('hunter2');
  const shown = [
    `${secret}`,
    JSON.stringify({ secret }),
    inspect(secret),
    inspect({ secret }),
    String(secret),
  ];
  expect(shown.filter((text) => text.includes('hunter2'))).toEqual([]);
  expect(shown.filter((text) => !text.includes('--- masked ---'))).toEqual([]);
  expect(secret.reveal()).toBe('hunter2');
});

test('Verbosity rejects fractions', () => {
  expect(() => new Verbosity(Number.NaN)).toThrow(RangeError);
  expect(() => new Verbosity(1).set(1.5)).toThrow(RangeError);
  expect(new Verbosity(10).level).toBe(10);
});

test('silentLogger writes nothing at any level', () => {
  expect(silentLogger.v(0).enabled).toBe(false);
  expect(silentLogger.with({ a: 1 })).toBe(silentLogger);
});
