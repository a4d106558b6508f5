// Entries whose names are not valid UTF-8, which a pod may create: they are removed, counted and regrouped like all others.
import { execFileSync } from 'node:child_process';
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { changeOwnership } from './ownership.ts';
import { smallDiskUsage } from './usage/usage.ts';
import { walkUsage } from './usage/walk-usage.ts';
import { VolumeFiles } from './volume-files.ts';

const { signal } = new AbortController();
const noText = Buffer.from([0xff, 0xfe, 0x80]);
const bytesOf = (...parts: readonly (string | Buffer)[]): Buffer =>
  Buffer.concat(parts.map((part) => Buffer.from(part)));

let root = '';
let volume = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'raw-names-'));
  // Includes non-ASCII text, also in the path.
  volume = join(root, 'uid', 'volumes', 'v');
  mkdirSync(join(volume, 'Größe', 'ä'), { recursive: true });
  const inner = bytesOf(volume, '/', noText);
  mkdirSync(inner);
  writeFileSync(bytesOf(inner, '/', noText), 'x'.repeat(100_000));
  writeFileSync(bytesOf(volume, '/Größe/ä/', noText), 'x');
  symlinkSync('nowhere', bytesOf(inner, '/link', noText));
});
// Node's own removal cannot find these names.
afterEach(() => void execFileSync('rm', ['-rf', root]));

test('removes a tree with names that are not UTF-8', async () => {
  await new VolumeFiles({ podsDir: root, now: () => 0 }).removeTree(volume);
  expect(existsSync(volume)).toBe(false);
});

test('counts files with names that are not UTF-8', async () => {
  const small = await smallDiskUsage(volume, 1_000, signal);
  const walk = walkUsage(volume);
  let step = walk.next();
  while (step.done !== true) step = walk.next();
  // The volume, three directories, two files and a link.
  for (const usage of [small, step.value])
    expect(usage).toMatchObject({ inodes: 7, bytes: expect.toSatisfy((bytes: number) => bytes > 100_000) });
});

test.skipIf(process.getuid?.() !== 0)(
  'changes the group of files with names that are not UTF-8',
  async () => {
    chownSync(volume, 0, 0);
    const request = { path: volume, fsGroup: 4242, readOnly: false, onlyOnRootMismatch: false };
    const { entries, failed } = await changeOwnership(request, signal);
    expect({ entries, failed }).toEqual({ entries: 7, failed: 0 });
    const groups = readdirSync(bytesOf(volume, '/', noText), { encoding: 'buffer' })
      .filter((name) => name.equals(noText))
      .map((name) => statSync(bytesOf(volume, '/', noText, '/', name)).gid);
    expect(groups).toEqual([4242]);
  },
);
