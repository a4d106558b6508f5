import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { canMount } from '../../../test/fakes/mount-directory.ts';
import { recordFiles } from './record-files.ts';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'records-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test('writes, reads and removes a file that only its owner can read', async () => {
  const path = join(dir, 'a', 'b', 'record');
  await recordFiles.write(path, 'one');
  await recordFiles.write(path, 'two');
  expect(await recordFiles.read(path)).toBe('two');
  expect(await recordFiles.list(join(dir, 'a', 'b'))).toEqual(['record']);
  expect([statSync(path).mode & 0o777, statSync(join(dir, 'a')).mode & 0o777]).toEqual([0o600, 0o700]);
  await recordFiles.remove(path);
  await recordFiles.remove(path);
  expect(await recordFiles.read(path)).toBeUndefined();
});

test('returns nothing for missing files and directories', async () => {
  expect(await recordFiles.list(join(dir, 'none'))).toEqual([]);
  expect(await recordFiles.read(join(dir, 'none'))).toBeUndefined();
});

test('keeps the old file after a failed write', async () => {
  const path = join(dir, 'record');
  await recordFiles.write(path, 'old');
  // A directory in place of the temporary file fails for root as well.
  rmSync(`${path}.tmp`, { force: true });
  await recordFiles.write(join(`${path}.tmp`, 'x'), 'conflict');
  await expect(recordFiles.write(path, 'new')).rejects.toMatchObject({ reason: 'FailedWrite' });
  expect(readFileSync(path, 'utf8')).toBe('old');
});

test('keeps a file under a second name that the next write leaves unchanged', async () => {
  const [path, kept] = [join(dir, 'record'), join(dir, '.record.previous')];
  await recordFiles.keep(path, kept);
  expect(readdirSync(dir)).toEqual([]);
  for (const text of ['a', 'b', 'c']) {
    await recordFiles.keep(path, kept);
    await recordFiles.replace(path, text);
  }
  expect([readFileSync(path, 'utf8'), readFileSync(kept, 'utf8')]).toEqual(['c', 'b']);
  // Twice without a write in between.
  for (let times = 0; times < 2; times++) await recordFiles.keep(path, kept);
  expect([readFileSync(kept, 'utf8'), readdirSync(dir)]).toEqual(['c', ['.record.previous', 'record']]);
});

test.runIf(canMount)('reports a full disk, keeps the old file and leaves no partial one', async () => {
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4k', 'tmpfs', dir]);
  try {
    const path = join(dir, 'record');
    await recordFiles.write(path, 'old');
    const failed = recordFiles.write(path, 'new');
    await expect(failed).rejects.toMatchObject({ reason: 'FailedWrite', cause: { code: 'ENOSPC' } });
    expect([readFileSync(path, 'utf8'), readdirSync(dir)]).toEqual(['old', ['record']]);
  } finally {
    execFileSync('umount', [dir]);
  }
});

test('neither reads nor writes through a link', async () => {
  const path = join(dir, 'record');
  writeFileSync(join(dir, 'other'), 'theirs');
  symlinkSync(join(dir, 'other'), path);
  await expect(recordFiles.read(path)).rejects.toMatchObject({ reason: 'FailedRead' });
  symlinkSync(join(dir, 'other'), `${path}.tmp`);
  await expect(recordFiles.write(path, 'mine')).rejects.toMatchObject({ reason: 'FailedWrite' });
  expect(readFileSync(join(dir, 'other'), 'utf8')).toBe('theirs');
});

test('rejects a file as directory and a directory as file', async () => {
  writeFileSync(join(dir, 'file'), '');
  chmodSync(dir, 0o700);
  await expect(recordFiles.list(join(dir, 'file'))).rejects.toMatchObject({ reason: 'FailedRead' });
  await expect(recordFiles.read(dir)).rejects.toMatchObject({ reason: 'FailedRead' });
  expect(readdirSync(dir)).toEqual(['file']);
});

test('keeps a file under a second name, which a later write of the first does not change', async () => {
  const [path, kept] = [join(dir, 'state'), join(dir, '.state.previous')];
  await recordFiles.keep(path, kept);
  expect(await recordFiles.read(kept)).toBeUndefined();
  await recordFiles.replace(path, 'one');
  await recordFiles.keep(path, kept);
  await recordFiles.keep(path, kept);
  await recordFiles.replace(path, 'two');
  expect([await recordFiles.read(path), await recordFiles.read(kept)]).toEqual(['two', 'one']);
  expect((await recordFiles.list(dir)).toSorted()).toEqual(['.state.previous', 'state']);
});

test('replaces a file without waiting for the disk, and flushes it', async () => {
  const path = join(dir, 'a', 'state');
  await recordFiles.flush(path);
  await recordFiles.replace(path, 'one');
  await recordFiles.replace(path, 'two');
  await recordFiles.flush(path);
  expect([readFileSync(path, 'utf8'), statSync(path).mode & 0o777]).toEqual(['two', 0o600]);
  expect(readdirSync(join(dir, 'a'))).toEqual(['state']);
});
