import { describe, expect, test } from 'vitest';
import { readHosts, readResolvConf, resolveCandidates } from './resolv-conf.ts';

test('reads hosts with names in any case, comments and several addresses', () => {
  const text =
    '# 1.1.1.1 web\n127.0.0.1\tlocalhost Web # web2\r\n::1 web.\nnot-an-address web\n10.0.0.1 other\n';
  expect(readHosts(text, 'WEB')).toEqual(['127.0.0.1', '::1']);
  expect(readHosts(text, 'web2')).toEqual([]);
});

describe('readResolvConf', () => {
  const defaults = { search: [], ndots: 1, timeoutMs: 5_000, attempts: 2 };
  for (const [text, want] of [
    ['', defaults],
    ['nameserver 10.0.0.10\nsearch a.test b.test.\n', { ...defaults, search: ['a.test', 'b.test.'] }],
    ['options ndots:5 timeout:1 attempts:3 rotate', { ...defaults, ndots: 5, timeoutMs: 1_000, attempts: 3 }],
    ['options ndots:99999 timeout:0 attempts:x', { ...defaults, timeoutMs: 1_000 }],
  ] as const) {
    test(`reads ${JSON.stringify(text)}`, () => expect(readResolvConf(text)).toEqual(want));
  }
});

test('queries the search list first for names with few dots', () => {
  const conf = { search: ['a.test', 'b.test.'], ndots: 2, timeoutMs: 1, attempts: 1 };
  expect(resolveCandidates('web', conf)).toEqual(['web.a.test', 'web.b.test', 'web']);
  expect(resolveCandidates('a.b.c', conf)).toEqual(['a.b.c', 'a.b.c.a.test', 'a.b.c.b.test']);
  expect(resolveCandidates('web.', conf)).toEqual(['web']);
});
