import { describe, expect, test } from 'vitest';
import { hasForeignOrigin, isCrossSite, isLoadedByOthers, isLoopbackHost } from './cross-site.ts';
import type { HttpRequest } from './http-message.ts';

const host = 'node-1:10250';

describe('isCrossSite', () => {
  const cases: readonly (readonly [string, HttpRequest['headers'], boolean])[] = [
    ['kubectl and other clients that send no Origin', { host }, false],
    ['a page of this host', { host, origin: 'https://node-1:10250' }, false],
    ['a page of this host in capitals', { host: 'NODE-1:10250', origin: 'https://node-1:10250' }, false],
    ['a page of this host, over HTTP/2', { ':authority': host, origin: 'https://node-1:10250' }, false],
    ['a page on the default port', { host: 'node-1', origin: 'https://node-1' }, false],
    ['a page on the default port, in the Host', { host: 'node-1:443', origin: 'https://node-1' }, false],
    ['an IPv6 address', { host: '[fd00::1]:10250', origin: 'https://[fd00::1]:10250' }, false],
    ['a page of another host', { host, origin: 'https://evil.example' }, true],
    ['a page of another port', { host, origin: 'https://node-1' }, true],
    ['a page of a longer name', { host, origin: 'https://node-1:10250.evil.example' }, true],
    ['a user name that looks like the host', { host, origin: 'https://node-1:10250@evil.example' }, true],
    ['a sandboxed frame', { host, origin: 'null' }, true],
    ['an empty Origin', { host, origin: '' }, true],
    ['an Origin that is no URL', { host, origin: 'node-1:10250' }, true],
    ['no Host', { origin: 'https://node-1:10250' }, true],
    ['several Origins', { host, origin: ['https://evil.example', 'https://node-1:10250'] }, true],
    [
      'the API server, which forwards the Origin of its own client',
      { host, origin: 'https://console.example', 'x-forwarded-for': '10.0.0.9' },
      false,
    ],
  ];
  test.each(cases)('%s', (_, headers, want) => expect(isCrossSite(headers)).toBe(want));

  test('a forwarded address is no excuse where no proxy is expected', () => {
    const headers = { host, origin: 'https://evil.example', 'x-forwarded-for': '10.0.0.9' };
    expect(hasForeignOrigin(headers)).toBe(true);
  });
});

test.each([
  ['an image of another site', 'cross-site', 'no-cors', true],
  ['a page of another port of this host', 'same-site', 'cors', true],
  ['a link on another site', 'cross-site', 'navigate', false],
  ['the page itself', 'same-origin', 'cors', false],
  ['the address bar', 'none', 'navigate', false],
])('%s: loaded by others is %s, %s → %s', (_, site, mode, want) => {
  expect(isLoadedByOthers({ 'sec-fetch-site': site, 'sec-fetch-mode': mode })).toBe(want);
});

test.each([
  ['localhost', true],
  ['LocalHost:4194', true],
  ['127.0.0.1', true],
  ['127.1.2.3:4194', true],
  ['[::1]:4194', true],
  ['[::1]', true],
  ['::1', false],
  ['', false],
  ['evil.example', false],
  ['localhost.evil.example', false],
  ['localhost:4194.evil.example', false],
  ['127.0.0.1.evil.example', false],
  ['127.0.0.1@evil.example', false],
  ['evil.example:4194', false],
  ['127.0.0.1.', false],
  ['128.0.0.1', false],
  ['0.0.0.0:4194', false],
  ['[::ffff:127.0.0.1]', false],
  ['user@localhost', false],
])('Host %j: a loopback address is %s', (name, want) => {
  expect(isLoopbackHost({ host: name })).toBe(want);
});
