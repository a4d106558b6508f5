// The files that the package contains as they are, compared with the parts of the sources that they repeat.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { nodeRelease } from './dependencies.ts';

const file = (path: string): string => readFileSync(join('tools/deb/files', path), 'utf8');
const flagsOf = (text: string): readonly string[] =>
  (text.match(/--[a-z][a-z-]*(=\d+)?/g) ?? []).filter((flag) => flag !== '--version').toSorted();

test("the command passes the flags of bin/kubelet for the package's version of Node.js", () => {
  const source = readFileSync('bin/kubelet', 'utf8');
  const old = /(v2[01]\.\*.*) tiering=(\S+)/.exec(source)?.[2] ?? '';
  expect(old).not.toBe('');
  expect(Number(nodeRelease.version.split('.')[0])).toBeGreaterThanOrEqual(22);
  expect(flagsOf(file('usr/bin/kubelet'))).toEqual(flagsOf(source).filter((flag) => flag !== old));
});

test("the command becomes the kubelet's process", () => {
  expect(file('usr/bin/kubelet')).toMatch(/^exec \/usr\/lib\/kubelet-ts\/bin\/kubelet (.|\\\n)*"\$@"\n$/m);
});

test('the environment file is that of the packages of pkgs.k8s.io, so that a change of packages asks nothing', () => {
  expect(file('etc/default/kubelet')).toBe('KUBELET_EXTRA_ARGS=\n');
});
