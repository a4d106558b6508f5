import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { ConfigurationDirectory } from './configuration-files.ts';

function rig(): { readonly files: ConfigurationDirectory; readonly path: (name: string) => string } {
  const directory = mkdtempSync(join(tmpdir(), 'configuration-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return { files: new ConfigurationDirectory('/', new FakeClock()), path: (name) => join(directory, name) };
}

test('reads a file, also through links, and lists a directory', async () => {
  const { files, path } = rig();
  mkdirSync(path('data'));
  writeFileSync(path('data/config.yaml'), 'kind: KubeletConfiguration\n');
  symlinkSync('data', path('..data'));
  symlinkSync('..data/config.yaml', path('config.yaml'));
  expect(await files.read(path('config.yaml'))).toBe('kind: KubeletConfiguration\n');
  const entries = await files.list(path('.'));
  expect(entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))).toEqual([
    { name: '..data', isDirectory: false },
    { name: 'config.yaml', isDirectory: false },
    { name: 'data', isDirectory: true },
  ]);
});

test('rejects a large file, a FIFO, a directory and a missing file without blocking', async () => {
  const { files, path } = rig();
  writeFileSync(path('large'), 'x'.repeat(300 * 1024));
  execFileSync('mkfifo', [path('fifo')]);
  await expect(files.read(path('large'))).rejects.toThrow('more than 262144 bytes');
  await expect(files.read(path('fifo'))).rejects.toThrow('not a regular file');
  await expect(files.read(path('.'))).rejects.toThrow('not a regular file');
  await expect(files.read(path('missing'))).rejects.toThrow('ENOENT');
});

test('rejects a directory of too many files', async () => {
  const { files, path } = rig();
  for (let count = 0; count <= 1_000; count++) writeFileSync(path(String(count)), '');
  await expect(files.list(path('.'))).rejects.toThrow('more than 1000 entries');
});
