import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { MountTableReader } from './mount-points.ts';
import { loadTableReader } from './read-kernel-table.ts';

test('reads what the kernel prints', async () => {
  const read = await loadTableReader();
  // Fixed while the kernel runs, unlike the mount table.
  expect(await read('/proc/filesystems')).toBe(await readFile('/proc/filesystems', 'utf8'));
  expect(await read('/proc/self/mountinfo')).toMatch(/ \/ \/ .*\n$/s);
});

test('reads tables that are longer than its buffer, and shorter ones afterwards', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'kernel-table-'));
  onTestFinished(async () => await rm(dir, { recursive: true }));
  const read = await loadTableReader();
  for (const bytes of [0, 1, 64 * 1024 - 1, 64 * 1024, 64 * 1024 + 1, 1_000_000, 3]) {
    const text = 'abcdefg'.repeat(Math.ceil(bytes / 7)).slice(0, bytes);
    await writeFile(join(dir, 'table'), text);
    expect((await read(join(dir, 'table'))) === text, `${bytes} bytes`).toBe(true);
  }
});

test('reports a table that cannot be opened or read', async () => {
  const read = await loadTableReader();
  await expect(read('/proc/self/missing')).rejects.toMatchObject({
    message: 'cannot read /proc/self/missing: errno 2',
  });
  await expect(read('/proc')).rejects.toMatchObject({ reason: 'FailedRead' });
});

test('a reader of the mount table serves concurrent callers and works again after a failure', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'kernel-table-'));
  onTestFinished(async () => await rm(dir, { recursive: true }));
  const reader = new MountTableReader(join(dir, 'table'));
  await expect(reader.read()).rejects.toMatchObject({ reason: 'FailedRead' });
  await writeFile(join(dir, 'table'), 'a');
  expect(await Promise.all([reader.read(), reader.read(), reader.read()])).toEqual(['a', 'a', 'a']);
});
