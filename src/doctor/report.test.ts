import { describe, expect, test } from 'vitest';
import { checks } from './checks.ts';
import { fail, ok, warn } from './finding.ts';
import { countsOf, jsonReport, shown, textReport } from './report.ts';

const results = [
  { name: 'swap', ...ok('off') },
  { name: 'clock', ...warn('not synchronized', 'timedatectl set-ntp true') },
  { name: 'runtime-version', ...fail('bad \u001b[31mname\nfail other: x', 'restart it') },
];

test('textReport: a line per check, its fix below, and a summary', () => {
  expect(textReport(results)).toBe(`ok   swap: off
warn clock: not synchronized
  fix: timedatectl set-ntp true
FAIL runtime-version: bad \\u001b[31mname\\u000afail other: x
  fix: restart it

3 checks: 1 ok, 1 warnings, 1 failed
`);
});

test('jsonReport: stable keys', () => {
  expect(JSON.parse(jsonReport(results))).toEqual({
    checks: [
      { name: 'swap', status: 'ok', finding: 'off' },
      { name: 'clock', status: 'warn', finding: 'not synchronized', fix: 'timedatectl set-ntp true' },
      {
        name: 'runtime-version',
        status: 'fail',
        finding: 'bad \\u001b[31mname\\u000afail other: x',
        fix: 'restart it',
      },
    ],
    summary: { ok: 1, warn: 1, fail: 1 },
  });
  expect(countsOf([])).toEqual({ ok: 0, warn: 0, fail: 0 });
});

describe('shown', () => {
  const cases = [
    ['größe 1 €', 'größe 1 €'],
    ['a\u0000b\u007fc\u0085', 'a\\u0000b\\u007fc\\u0085'],
    ['\u202egnp.exe', '\\u202egnp.exe'],
    ['\ud800', '\\ud800'],
    ['x'.repeat(1000), `${'x'.repeat(600)}…`],
  ] as const;
  for (const [text, expected] of cases)
    test(JSON.stringify(text.slice(0, 12)), () => expect(shown(text)).toBe(expected));
});

test('the names of checks are distinct, short and in one form', () => {
  const names = checks.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(names.filter((name) => !/^[a-z]+(-[a-z]+)*$/.test(name))).toEqual([]);
});
