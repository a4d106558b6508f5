import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { link, mkdir, mkdtemp, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { logIdentity, openLogFile, rotatedLogs } from './log-files.ts';

let root = '';
let path = '';

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'log-files-'));
  path = join(root, 'pods', 'ns_pod_uid', 'c', '0.log');
  await mkdir(dirname(path), { recursive: true });
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function content(of: string, id = ''): Promise<string | undefined> {
  const file = await openLogFile(of, id);
  if (file === undefined) return undefined;
  const buffer = Buffer.alloc(1024);
  const length = await file.read(buffer, 0);
  await file.close();
  return buffer.toString('utf8', 0, length);
}

describe('a log file', () => {
  test('is undefined if it or its directory does not exist', async () => {
    expect(await content(path)).toBeUndefined();
    expect(await content('/nonexistent/pods/p/c/0.log')).toBeUndefined();
  });

  test('stays the same when it is renamed or deleted', async () => {
    await writeFile(path, 'one');
    const file = await openLogFile(path, '');
    expect(file?.identity).toBe(await logIdentity(path));
    await rename(path, `${path}.x`);
    await writeFile(path, 'two');
    expect(file?.identity).not.toBe(await logIdentity(path));
    await unlink(`${path}.x`);
    const buffer = Buffer.alloc(10);
    expect(await file?.read(buffer, 1)).toBe(2);
    expect(buffer.toString('utf8', 0, 2)).toBe('ne');
    await file?.close();
  });

  test('replaced by a link to another file of the node is rejected', async () => {
    const secret = join(root, 'secret');
    await writeFile(secret, 'secret');
    await symlink(secret, path);
    await expect(content(path)).rejects.toThrow("leads out of the pod's log directory");
  });

  test('replaced by a link to the log of another pod is rejected', async () => {
    const other = join(root, 'pods', 'ns_other_uid', 'c', '0.log');
    await mkdir(dirname(other), { recursive: true });
    await writeFile(other, 'theirs');
    await symlink(other, path);
    await expect(content(path)).rejects.toThrow('leads out');
  });

  test('below a container or pod directory replaced by a link is rejected', async () => {
    const outside = join(root, 'outside');
    await mkdir(join(outside, 'c'), { recursive: true });
    await writeFile(join(outside, 'c', '0.log'), 'secret');
    await rm(dirname(path), { recursive: true });
    await symlink(join(outside, 'c'), dirname(path));
    await expect(content(path)).rejects.toThrow('leads out');
    await rm(dirname(dirname(path)), { recursive: true });
    await symlink(outside, dirname(dirname(path)));
    await expect(content(path)).rejects.toThrow('leads out');
  });

  test("may be a link within the pod's directory, and the directory of all logs may be a link", async () => {
    await writeFile(join(dirname(path), 'real.log'), 'inside');
    await symlink('real.log', path);
    expect(await content(path)).toBe('inside');
    await symlink(join(root, 'pods'), join(root, 'linked'));
    expect(await content(join(root, 'linked', 'ns_pod_uid', 'c', '0.log'))).toBe('inside');
  });

  test("may be Docker's file of this container, but not of another", async () => {
    const kept = join(root, 'docker', 'abc', 'abc-json.log');
    await mkdir(dirname(kept), { recursive: true });
    await writeFile(kept, 'docker');
    await symlink(kept, path);
    expect(await content(path, 'abc')).toBe('docker');
    await expect(content(path, 'abd')).rejects.toThrow('leads out');
  });

  test('that is a pipe or a directory is rejected without blocking', async () => {
    await mkdir(path);
    await expect(content(path)).rejects.toThrow('is not a regular file');
    await rm(path, { recursive: true });
    execFileSync('mkfifo', [path]);
    await expect(content(path)).rejects.toThrow('is not a regular file');
  });
});

describe('rotated logs', () => {
  test('are found by name, oldest first, and listed once while being compressed', async () => {
    const names = [
      '0.log',
      '0.log.20240102-000000',
      '0.log.20240101-000000.gz',
      '0.log.20240101-120000',
      '0.log.20240101-120000.gz',
      '0.log.20240102-000000.tmp',
      '10.log.20240101-000000',
      '0.log.backup',
    ];
    for (const name of names) await writeFile(join(dirname(path), name), '');
    const found = await rotatedLogs(path);
    expect(found.map((each) => each.path.slice(dirname(path).length + 1))).toEqual([
      '0.log.20240101-000000.gz',
      '0.log.20240101-120000',
      '0.log.20240102-000000',
    ]);
    await link(join(dirname(path), '0.log.20240102-000000'), join(root, 'same'));
    expect(found[2]?.identity).toBe(await logIdentity(join(root, 'same')));
    expect(await rotatedLogs('/nonexistent/0.log')).toEqual([]);
  });

  test('are limited if a pod creates thousands', async () => {
    const at = (n: number): string => `${path}.20240101-${String(n).padStart(6, '0')}`;
    for (let n = 0; n < 1000; n++) await writeFile(at(n), '');
    const found = await rotatedLogs(path);
    expect(found.map((each) => each.path)).toEqual(Array.from({ length: 100 }, (_, n) => at(900 + n)));
  });

  test('are read at any offset if compressed', async () => {
    const text = Array.from({ length: 20_000 }, (_, index) => `line ${index}\n`).join('');
    const packed = `${path}.20240101-000000.gz`;
    await writeFile(packed, gzipSync(text));
    const file = await openLogFile(packed, '');
    const buffer = Buffer.alloc(65_536);
    for (const from of [0, 100_000, 150_000, 7, 0]) {
      let got = '';
      while (got.length < 70_000) {
        const length = (await file?.read(buffer, from + got.length)) ?? 0;
        if (length === 0) break;
        got += buffer.toString('utf8', 0, length);
      }
      expect(text.startsWith(got, from)).toBe(true);
      expect(got.length).toBeGreaterThanOrEqual(Math.min(70_000, text.length - from));
    }
    await file?.close();
  });

  test('are read as far as possible if damaged', async () => {
    const packed = `${path}.20240101-000000.gz`;
    await writeFile(packed, 'not gzip at all');
    expect(await content(packed)).toBe('');
    const whole = gzipSync(randomBytes(100_000).toString('hex'));
    await writeFile(packed, whole.subarray(0, 80_000));
    const file = await openLogFile(packed, '');
    const buffer = Buffer.alloc(65_536);
    let at = 0;
    for (let length = -1; length !== 0; at += length) length = (await file?.read(buffer, at)) ?? 0;
    expect(at).toBeGreaterThan(100_000);
    await file?.close();
  });
});
