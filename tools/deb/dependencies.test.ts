import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { architectures } from './control.ts';
import { koffiBinaryPackage, nodePackage, type PackageLock, runtimeDependencies } from './dependencies.ts';

const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as PackageLock;
const hash = /^sha512-[A-Za-z0-9+/]{86}==$/;

describe('what the package contains of npm', () => {
  test.each(architectures)('is pinned by hash for %s', (architecture) => {
    for (const pinned of [nodePackage(architecture), koffiBinaryPackage(lock, architecture)])
      expect(pinned.integrity, pinned.name).toMatch(hash);
  });

  test('has another hash for each architecture', () => {
    expect(new Set(architectures.map((one) => nodePackage(one).integrity)).size).toBe(architectures.length);
  });

  test('fails without a hash of koffi', () => {
    expect(() => koffiBinaryPackage({ packages: {} }, 'arm64')).toThrow('no @koromix/koffi-linux-arm64');
  });
});

test('runtimeDependencies are those of package.json and theirs, without tools and optional packages', () => {
  const packages = {
    '': { version: '1' },
    'node_modules/a': { version: '1', license: 'MIT' },
    'node_modules/a/node_modules/@b/c': { version: '2', license: 'ISC' },
    'node_modules/tool': { version: '3', dev: true },
    'node_modules/both': { version: '3', devOptional: true },
    'node_modules/native': { version: '4', optional: true },
  };
  expect(runtimeDependencies({ packages })).toEqual([
    { name: 'a', version: '1', license: 'MIT' },
    { name: '@b/c', version: '2', license: 'ISC' },
  ]);
});

test.each(['preact', 'uplot', '@xterm/xterm', '@xterm/addon-fit'])(
  '%s, which is in the bundle of the page, is listed with its licence',
  (name) => {
    const found = runtimeDependencies(lock).find((each) => each.name === name);
    expect(found?.license).toBe('MIT');
    expect(readFileSync(`node_modules/${name}/LICENSE`, 'utf8')).toMatch(/permission is hereby granted/i);
  },
);
