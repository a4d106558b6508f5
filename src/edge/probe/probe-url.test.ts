import { describe, expect, test } from 'vitest';
import { probeUrl, redirectUrl } from './probe-url.ts';

describe('redirectUrl', () => {
  const from = probeUrl('http', 'Web.Example', 8080, '/a/b?c');
  const cases: readonly (readonly [string, string | undefined, string?])[] = [
    ['/x', 'http://Web.Example:8080/x', 'Web.Example'],
    ['x?y', 'http://Web.Example:8080/a/x?y', 'Web.Example'],
    ['//other/x', 'http://other/x', 'other'],
    ['https://other:8443/x', 'https://other:8443/x', 'other'],
    ['http://[::1]/', 'http://[::1]/', '::1'],
    ['ftp://other/', undefined],
    ['http://[', undefined],
  ];
  for (const [location, text, host] of cases) {
    test(`to ${location}`, () => {
      const next = redirectUrl(from, location);
      expect([next?.text, next?.host]).toEqual([text, host]);
    });
  }
  test('omits a default port from the Host header', () => {
    expect(redirectUrl(from, 'https://other/')).toMatchObject({ port: 443, authority: 'other' });
  });
});

test('puts an IPv6 address in brackets in the Host header only', () => {
  const url = probeUrl('https', '::1', 443, '/');
  expect([url.host, url.authority, url.text]).toEqual(['::1', '[::1]:443', 'https://[::1]:443/']);
});
