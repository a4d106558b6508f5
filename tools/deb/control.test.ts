import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { upstreamVersion } from '../../src/config/version.ts';
import { controlFile, debianChangelog, packageVersion } from './control.ts';

const dpkg = '/usr/bin/dpkg';
/** Of the package dpkg-dev. */
const parser = '/usr/bin/dpkg-parsechangelog';
const why = existsSync(dpkg) ? undefined : 'dpkg is not installed';

/** Each is older than the next. */
const releases = [
  packageVersion('1', 'v1.37.0+ts.0.1.0-rc.1'),
  packageVersion('1', 'v1.37.0+ts.0.1.0'),
  packageVersion('2', 'v1.37.0+ts.0.1.0'),
  packageVersion('10', 'v1.37.0+ts.0.1.0'),
  packageVersion('1', 'v1.37.0+ts.0.2.0'),
  packageVersion('1', 'v1.37.0+ts.0.10.0'),
  packageVersion('1', 'v1.37.1+ts.0.1.0'),
  packageVersion('1', 'v1.38.0-rc.0+ts.0.1.0'),
  packageVersion('1', 'v1.38.0+ts.0.1.0'),
];

describe('packageVersion', () => {
  test('is that of the kubelet, and the revision', () => {
    expect(packageVersion('3', 'v1.37.0+ts.0.1.0')).toBe('1.37.0+ts.0.1.0-3');
  });

  test.each(['', '0', '-1', '1.2', 'a', '1-2'])('rejects the revision "%s"', (revision) => {
    expect(() => packageVersion(revision)).toThrow('not a positive number');
  });

  test.skipIf(why !== undefined)(
    `grows with every release, as dpkg compares${why ? ` (skipped: ${why})` : ''}`,
    () => {
      for (const [index, newer] of releases.slice(1).entries()) {
        const compare = (): Buffer =>
          execFileSync(dpkg, ['--compare-versions', releases[index] ?? '', 'lt-nl', newer], {
            stdio: 'pipe',
          });
        expect(compare, `${releases[index]} < ${newer}`).not.toThrow();
      }
    },
  );
});

test('the package stands in for the package kubelet of the same release', () => {
  const text = controlFile({ architecture: 'arm64', version: '1', installedKiB: 7 });
  const fields = new Map(text.split('\n').map((line) => line.split(/: (.*)/s) as [string, string]));
  expect(
    ['Package', 'Architecture', 'Installed-Size', 'Provides', 'Conflicts', 'Replaces'].map((name) =>
      fields.get(name),
    ),
  ).toEqual(['kubelet-ts', 'arm64', '7', `kubelet (= ${upstreamVersion.slice(1)})`, 'kubelet', 'kubelet']);
  expect(text.endsWith('\n')).toBe(true);
  expect(text).not.toMatch(/\n\n/);
  // Debian Policy 3.4.1; package managers cut longer lines of a description.
  const description = text.slice(text.indexOf('Description:')).trimEnd().split('\n').slice(1);
  expect(description.filter((line) => line.length > 80)).toEqual([]);
});

test.skipIf(!existsSync(parser))(`dpkg reads the changelog (skipped without ${parser})`, () => {
  const text = debianChangelog('1.37.0+ts.0.1.0-2', 1_780_000_000);
  const parsed = execFileSync(parser, ['-l', '-', '--all'], { input: text, encoding: 'utf8' });
  expect(parsed).toContain('Source: kubelet-ts\nVersion: 1.37.0+ts.0.1.0-2\n');
  expect(parsed).toContain('Date: Thu, 28 May 2026 20:26:40 +0000\n');
});
