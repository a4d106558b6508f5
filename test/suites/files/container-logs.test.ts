// `kubectl logs` on real files: rotation, open descriptors, links.
import { readdirSync, readlinkSync } from 'node:fs';
import {
  appendFile,
  mkdtemp,
  readFile,
  rename,
  rm,
  symlink,
  truncate,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { realClock } from '../../../src/base/clock.ts';
import { checkLeaks, type LeakCheck } from '../../leaks/leaks.ts';
import { bodyText, LogNode, LogReader, logLine } from '../../simulate/log-node.ts';

let root = '';
let leaks: LeakCheck;
let node: LogNode;
let stop: AbortController;

beforeEach(async () => {
  leaks = checkLeaks();
  root = await mkdtemp(join(tmpdir(), 'container-logs-'));
  node = new LogNode(root);
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort();
  await rm(root, { recursive: true, force: true });
  await leaks.assertNone();
});

/** The files of the test's directory that this process has open. */
function openLogs(): readonly string[] {
  return readdirSync('/proc/self/fd')
    .map((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`);
      } catch {
        return '';
      }
    })
    .filter((path) => path.startsWith(root));
}

const ask = async (query: string): Promise<string> => bodyText(await node.request(query, stop.signal));
const follow = async (query = ''): Promise<LogReader> =>
  new LogReader(await node.request(`follow=true&${query}`, stop.signal));

describe('a log read without follow', () => {
  test('is the content of the current file, with tail, since and limit applied', async () => {
    await node.write('one', 'two', 'three');
    expect(await ask('')).toBe('one\ntwo\nthree\n');
    expect(await ask('tailLines=2')).toBe('two\nthree\n');
    expect(await ask('tailLines=0')).toBe('');
    expect(await ask('tailLines=2&limitBytes=5')).toBe('two\nt');
    expect(await ask('timestamps=true&tailLines=1')).toBe('2024-01-01T00:00:01.500000000Z three\n');
  });

  test('ends where the file ended when it was opened', async () => {
    await node.write('one');
    const answer = await node.request('', stop.signal);
    await node.write('later');
    expect(await bodyText(answer)).toBe('one\n');
  });

  test('larger than a chunk is complete', async () => {
    const lines = Array.from({ length: 30_000 }, (_, index) => `line ${index} ${'x'.repeat(index % 50)}`);
    await node.write(...lines);
    expect(await ask('')).toBe(lines.map((line) => `${line}\n`).join(''));
    expect(await ask('tailLines=20000')).toBe(
      lines
        .slice(-20_000)
        .map((line) => `${line}\n`)
        .join(''),
    );
  });

  test('includes the rotated file for tail and since', async () => {
    await node.write('a', 'b');
    const first = await node.rotate('20240101-000000');
    await writeFile(`${first}.gz`, gzipSync(await readFile(first)));
    await unlink(first);
    await appendFile(node.path, logLine('c', '2024-01-01T00:00:02Z'));
    await node.rotate('20240101-000001');
    await writeFile(node.path, '');
    expect(await ask('')).toBe('');
    expect(await ask('tailLines=1')).toBe('c\n');
    expect(await ask('tailLines=2')).toBe('b\nc\n');
    expect(await ask('tailLines=9')).toBe('a\nb\nc\n');
    expect(await ask('sinceTime=2024-01-01T00:00:02Z')).toBe('c\n');
    expect(await ask('sinceTime=2024-01-01T00:00:00Z')).toBe('a\nb\nc\n');
  });

  test('is the rotated file in the middle of a rotation', async () => {
    await node.write('a');
    await node.rotate('20240101-000000');
    expect(await ask('')).toBe('a\n');
  });

  test('fails if the file is missing or was replaced by a symbolic link', async () => {
    const gone = await node.request('', stop.signal);
    expect([gone.status, await bodyText(gone)]).toEqual([
      400,
      `failed to open log file ${JSON.stringify(node.path)}: no such file`,
    ]);
    const secret = join(root, 'secret');
    await writeFile(secret, logLine('secret'));
    await symlink(secret, node.path);
    const refused = await node.request('', stop.signal);
    expect(refused.status).toBe(400);
    expect(await bodyText(refused)).toMatch(/leads out of the pod's log directory$/);
  });
});

describe('a followed log', () => {
  test('arrives as it is written, in whole lines, and ends with the container', async () => {
    await node.write('one');
    const reader = await follow();
    await reader.until('one\n');
    await node.write('two');
    await reader.until('one\ntwo\n');
    await appendFile(node.path, '2024-01-01T00:00:01Z stdout F thr');
    await appendFile(node.path, 'ee\n');
    await reader.until('one\ntwo\nthree\n');
    // Its last lines are in the file when its end is observed.
    await node.write('last');
    await appendFile(node.path, '2024-01-01T00:00:01Z stdout F without end');
    node.end();
    await reader.ended;
    expect(reader.text).toBe('one\ntwo\nthree\nlast\nwithout end');
  });

  test('begins with the requested tail, or with no lines', async () => {
    await node.write('a', 'b', 'c');
    const [two, none] = await Promise.all([follow('tailLines=2'), follow('tailLines=0')]);
    await two.until('b\nc\n');
    await node.write('d');
    await Promise.all([two.until('b\nc\nd\n'), none.until('d\n')]);
  });

  test('of an exited container is read to its end', async () => {
    await node.write('one');
    node.end();
    const reader = await follow();
    await reader.ended;
    expect(reader.text).toBe('one\n');
  });

  test('ends at its limit', async () => {
    const reader = await (async () => {
      await node.write('one');
      return follow('limitBytes=7');
    })();
    await node.write('two', 'three');
    await reader.ended;
    expect(reader.text).toBe('one\ntwo');
  });

  test('continues over rotations, after what the runtime still writes to the old file', async () => {
    await node.write('one');
    const reader = await follow();
    await reader.until('one\n');
    const rotated = await node.rotate('20240101-000000');
    await appendFile(rotated, logLine('two'));
    await reader.until('one\ntwo\n');
    await appendFile(rotated, logLine('three'));
    await node.write('four');
    await reader.until('one\ntwo\nthree\nfour\n');
    await node.rotate('20240101-000001');
    await node.write('five');
    await reader.until('one\ntwo\nthree\nfour\nfive\n');
    node.end();
    await reader.ended;
  });

  test('waits for late writes of the runtime to the old file', async () => {
    let late = async (): Promise<void> => undefined;
    const sleep = async (ms: number): Promise<void> => {
      if (ms === 100) await late();
    };
    node = new LogNode(root, { clock: { ...realClock, sleep } });
    await node.write('one');
    const rotated = await node.rotate('20240101-000000');
    late = () => appendFile(rotated, logLine('late'));
    const reader = await follow();
    await reader.until('one\n');
    await node.write('two');
    await reader.until('one\nlate\ntwo\n');
  });

  const times = [
    ['', ['2024-01-01T00:00:01Z', '2024-01-01T00:00:02Z', '2024-01-01T00:00:03Z', '2024-01-01T00:00:04Z']],
    [', although all lines have the same time', Array.from({ length: 4 }, () => '2024-01-01T00:00:01Z')],
  ] as const;
  test.each(times)('skips nothing for a slow reader over rotations and a compression%s', async (_, at) => {
    await appendFile(node.path, logLine('1', at[0]));
    const { body } = await node.request('follow=true', stop.signal);
    if (typeof body === 'string' || body instanceof Uint8Array) throw new Error('not a stream');
    const chunks = body[Symbol.asyncIterator]();
    const next = async (): Promise<string> => Buffer.from((await chunks.next()).value ?? '').toString();
    expect(await next()).toBe('1\n');
    const first = await node.rotate('20240101-000001');
    await appendFile(node.path, logLine('2', at[1]));
    const second = await node.rotate('20240101-000002');
    await appendFile(node.path, logLine('3', at[2]));
    await node.rotate('20240101-000003');
    await appendFile(node.path, logLine('4', at[3]));
    for (const path of [first, second]) {
      await writeFile(`${path}.gz`, gzipSync(await readFile(path)));
      await unlink(path);
    }
    let text = '';
    while (!text.endsWith('4\n')) text += await next();
    expect(text).toBe('2\n3\n4\n');
    await chunks.return?.();
  });

  test('continues after the file was truncated', async () => {
    await node.write('one', 'two');
    const reader = await follow();
    await reader.until('one\ntwo\n');
    await truncate(node.path);
    await node.write('x');
    await reader.until('one\ntwo\nx\n');
  });

  test('does not continue with a file that replaces it by a symbolic link', async () => {
    const secret = join(root, 'secret');
    await writeFile(secret, logLine('secret'));
    await node.write('one');
    const reader = await follow();
    await reader.until('one\n');
    await symlink(secret, `${node.path}.new`);
    await rename(`${node.path}.new`, node.path);
    await expect(reader.ended).rejects.toThrow('leads out');
    expect(reader.text).toBe('one\n');
  });

  test('ends when the client disconnects, whether it is waiting or reading', async () => {
    await node.write('one');
    const reader = await follow();
    await reader.until('one\n');
    stop.abort();
    await reader.ended;
    expect(openLogs()).toEqual([]);
  });

  test('is not read ahead of its reader, so that nothing accumulates', async () => {
    await node.write(...Array.from({ length: 50_000 }, () => 'x'.repeat(100)));
    const answer = await node.request('follow=true', stop.signal);
    const { body } = answer;
    if (typeof body === 'string' || body instanceof Uint8Array) throw new Error('not a stream');
    const chunks = body[Symbol.asyncIterator]();
    const first = (await chunks.next()).value as Uint8Array;
    expect(first.length).toBeLessThanOrEqual(64 * 1024);
    await chunks.return?.();
    expect(openLogs()).toEqual([]);
  });
});
