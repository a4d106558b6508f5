// The files that the package contains as they are, compared with the parts of the sources that they repeat.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadCommandLine } from '../../src/config/command-line/load-command-line.ts';
import { admissionFault } from '../../src/server/auth/build-admission.ts';
import { nodeRelease } from './dependencies.ts';
import { programFiles } from './package-files.ts';

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

test('the documented configuration without a control plane keeps the kubelet from nothing', async () => {
  const page = readFileSync('docs/installing.md', 'utf8');
  const text = /<<'EOF'\n([^]*?)\nEOF\n/.exec(page)?.[1] ?? '';
  const outcome = await loadCommandLine({
    argv: ['--config=/k.yaml'],
    files: { workingDirectory: '/', read: async () => text, list: async () => [] },
    host: async () => ({ cgroupVersion: 2 }),
  });
  if (outcome.kind !== 'run') throw new Error(outcome.text);
  expect(outcome.config.staticPodPath).toBe('/etc/kubernetes/manifests');
  expect(admissionFault(outcome.config, false)).toBeUndefined();
});

test("the command becomes the kubelet's process", () => {
  expect(file('usr/bin/kubelet')).toMatch(/^exec \/usr\/lib\/kubelet-ts\/bin\/kubelet (.|\\\n)*"\$@"\n$/m);
});

test('the environment file is that of the packages of pkgs.k8s.io, so that a change of packages asks nothing', () => {
  expect(file('etc/default/kubelet')).toBe('KUBELET_EXTRA_ARGS=\n');
});

test('the bundle is in the package without source maps, with the files of the page beside it', () => {
  const root = mkdtempSync(join(tmpdir(), 'deb-files-'));
  try {
    mkdirSync(join(root, 'dist', 'kubelet', 'ui'), { recursive: true });
    const built = ['main.mjs', 'main.mjs.map', 'ui/app.js', 'ui/app.js.br', 'ui/manifest.json'];
    for (const name of built) writeFileSync(join(root, 'dist', 'kubelet', name), '');
    const files = programFiles({ root, architecture: 'amd64', node: '/node', koffiBinary: '/koffi' });
    const home = 'usr/lib/kubelet-ts/kubelet/';
    const paths = files.map(({ path }) => path).filter((path) => path.startsWith(home));
    expect(paths.map((path) => path.slice(home.length))).toEqual([
      'main.mjs',
      'ui/app.js',
      'ui/app.js.br',
      'ui/manifest.json',
    ]);
  } finally {
    rmSync(root, { recursive: true });
  }
});
