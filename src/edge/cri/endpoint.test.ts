import { expect, test } from 'vitest';
import { parseCriEndpoint } from './endpoint.ts';

const good = [
  ['unix:///run/containerd/containerd.sock', '/run/containerd/containerd.sock'],
  ['unix:/run/r.sock', '/run/r.sock'],
  ['/run/with space/r.sock', '/run/with space/r.sock'],
  [`/${'x'.repeat(106)}`, `/${'x'.repeat(106)}`],
] as const;
for (const [endpoint, path] of good) {
  test(`accepts ${endpoint}`, () => expect(parseCriEndpoint(endpoint)).toBe(path));
}

const bad = [
  ['', 'only unix sockets'],
  ['tcp://127.0.0.1:1234', 'only unix sockets'],
  ['npipe:////./pipe/x', 'only unix sockets'],
  ['unix://relative.sock', 'only unix sockets'],
  ['run/r.sock', 'only unix sockets'],
  ['/run/\0.sock', 'only unix sockets'],
  [`/${'ü'.repeat(54)}`, 'at most 107 bytes'],
] as const;
for (const [endpoint, words] of bad) {
  test(`rejects ${JSON.stringify(endpoint)}`, () => {
    expect(() => parseCriEndpoint(endpoint)).toThrow(words);
  });
}
