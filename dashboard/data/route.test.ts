import { describe, expect, test } from 'vitest';
import { parentHref, parseRoute, podHref, routeHref, tokenOf } from './route.ts';

describe('parseRoute', () => {
  test.each([
    ['', '#/pods'],
    ['#', '#/pods'],
    ['#/', '#/pods'],
    ['#/pods?q=web&ns=default', '#/pods?q=web&ns=default'],
    ['#/pods/default', '#/pods'],
    ['#/pods/default/web', '#/pods/default/web'],
    ['#/pods/default/web/logs?c=a%2Cb&q=x', '#/pods/default/web/logs?c=a%2Cb&q=x'],
    ['#/pods/default/web/unknown', '#/pods/default/web'],
    ['#/pods/default/%E0%A4%A', '#/pods/default/%25E0%25A4%25A'],
    ['#/eviction', '#/eviction'],
    ['#/health', '#/health'],
    ['#/unknown', '#/pods'],
    ['#javascript:alert(1)', '#/pods'],
  ])('reads %s as %s', (hash, want) => {
    expect(routeHref(parseRoute(hash))).toBe(want);
  });

  test('reads back a hostile name', () => {
    const name = 'a/b?c#d%20<script>\u202e';
    const route = parseRoute(podHref({ namespace: 'n s', name }, 'shell', { c: 'x&y' }));
    expect(route).toMatchObject({ view: 'pod', namespace: 'n s', name, tab: 'shell' });
    expect(route.query.get('c')).toBe('x&y');
  });
});

test('parentHref leads from a tab to the pod, and from a pod to the pods', () => {
  expect(parentHref(parseRoute('#/pods/a/b/logs?c=x'))).toBe('#/pods/a/b');
  expect(parentHref(parseRoute('#/pods/a/b'))).toBe('#/pods');
  expect(parentHref(parseRoute('#/health'))).toBe('#/pods');
  expect(parentHref(parseRoute('#/pods'))).toBeUndefined();
});

test.each([
  ['#token=abc', { token: 'abc', next: '#/pods' }],
  ['#token=a%2Bb&to=/pods/default/web/shell?c=app', { token: 'a+b', next: '#/pods/default/web/shell?c=app' }],
  ['#token=abc&to=javascript:alert(1)', { token: 'abc', next: '#/pods' }],
  ['#token=', undefined],
  ['#/pods', undefined],
])('tokenOf(%s)', (hash, want) => {
  expect(tokenOf(hash)).toEqual(want);
});
