// The thread that measures large directory trees, built as in production: its figures equal those of the walk in the
// main thread, it does not block the event loop, and aborted calls and crashed threads are handled.
import { link, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { UsageThread } from '../../../src/edge/volumes/usage/usage-thread-client.ts';
import { VolumeFiles } from '../../../src/edge/volumes/volume-files.ts';
import { checkLeaks, type LeakCheck, threads } from '../../leaks/leaks.ts';

/**
 * Responds at once, except for a path with `dead` in it: there it hangs, like a call to the file system of a dead
 * server.
 */
const hanging = `
import { parentPort, workerData } from 'node:worker_threads';
const state = new Int32Array(workerData);
parentPort.on('message', ({ id, path }) => {
  if (path === undefined) return;
  Atomics.store(state, 0, id);
  if (path.includes('dead')) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  Atomics.store(state, 0, 0);
  Atomics.add(state, 1, 1);
  parentPort.postMessage({ id, usage: { bytes: 1, inodes: 1, source: 'du' } });
});
`;

describe('measuring in a thread', () => {
  const signal = new AbortController().signal;
  let root = '';
  let tree = '';
  let leaks: LeakCheck;

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'usage-thread-'));
    await build({
      entryPoints: [join(import.meta.dirname, '../../../src/entry/usage-thread.ts')],
      outfile: join(root, 'usage-thread.mjs'),
      bundle: true,
      platform: 'node',
      format: 'esm',
      logLevel: 'silent',
    });
    await writeFile(join(root, 'broken.mjs'), 'throw new Error("broken")');
    await writeFile(join(root, 'silent.mjs'), 'process.exit(0)');
    await writeFile(join(root, 'endless.mjs'), 'for (;;) {}');
    await writeFile(join(root, 'hanging.mjs'), hanging);
    tree = join(root, 'tree');
    for (const part of ['a', 'a/b', 'c']) {
      await mkdir(join(tree, part), { recursive: true });
      const names = Array.from({ length: 1_000 }, (_, at) => join(tree, part, `file-${at}`));
      await Promise.all(names.map((name) => writeFile(name, 'x'.repeat(5_000))));
    }
    await link(join(tree, 'a/file-0'), join(tree, 'c/again'));
    await symlink('/usr', join(tree, 'out'));
  });
  afterAll(() => rm(root, { recursive: true, force: true }));
  beforeEach(() => {
    leaks = checkLeaks({ active: threads });
  });
  afterEach(() => leaks.assertNone());

  const by = (script: string | undefined): VolumeFiles =>
    new VolumeFiles({
      podsDir: join(root, 'pods'),
      now: () => 0,
      ...(script === undefined ? {} : { usageThread: pathToFileURL(join(root, script)) }),
    });

  test('returns the figures of the walk in the main thread', async () => {
    const counted = await by('usage-thread.mjs').usage(tree, signal);
    expect(counted).toEqual(await by(undefined).usage(tree, signal));
    expect(counted.inodes).toBe(3_005);
  });

  test('a small tree starts no thread', async () => {
    expect((await by('broken.mjs').usage(join(tree, 'c'), signal)).inodes).toBe(1_002);
  });

  test('a missing tree is not found; a thread that crashes or exits fails the call', async () => {
    await expect(by('usage-thread.mjs').usage(join(tree, 'none'), signal)).rejects.toMatchObject({
      kind: 'not-found',
    });
    await expect(by('broken.mjs').usage(tree, signal)).rejects.toThrow('cannot measure');
    await expect(by('silent.mjs').usage(tree, signal)).rejects.toThrow('usage thread exited');
  });

  test('an endless walk can be aborted and does not block the event loop', async () => {
    const stop = new AbortController();
    const measured = by('endless.mjs').usage(tree, stop.signal);
    let turns = 0;
    const turn = (): void => {
      turns += 1;
      if (turns < 10_000) setImmediate(turn);
      else stop.abort(new Error('aborted'));
    };
    setImmediate(turn);
    await expect(measured).rejects.toThrow('aborted');
  });

  const openThreads = (): number =>
    process.getActiveResourcesInfo().filter((name) => name === 'MessagePort').length;

  test('many large trees at once share one thread', async () => {
    const files = by('usage-thread.mjs');
    const before = openThreads();
    let most = 0;
    const sampling = setInterval(() => {
      most = Math.max(most, openThreads() - before);
    }, 1);
    const counted = await Promise.all(Array.from({ length: 40 }, () => files.usage(tree, signal)));
    clearInterval(sampling);
    expect(new Set(counted.map(({ inodes }) => inodes))).toEqual(new Set([3_005]));
    expect(most).toBe(1);
  });

  test('a hung file system fails only its own tree', async () => {
    const thread = new UsageThread({ script: pathToFileURL(join(root, 'hanging.mjs')), hangMs: 300 });
    const paths = ['/one', '/dead', '/two', ...Array.from({ length: 20 }, (_, at) => `/more-${at}`)];
    const ends = await Promise.allSettled(paths.map((path) => thread.measure(path, signal)));
    expect(ends.map(({ status }) => status)).toEqual(
      paths.map((path) => (path === '/dead' ? 'rejected' : 'fulfilled')),
    );
    expect(ends[1]).toMatchObject({
      reason: { message: 'cannot measure /dead: the file system did not respond for 300 ms' },
    });
  });

  test('the number of waiting calls is bounded', async () => {
    const stop = new AbortController();
    const thread = new UsageThread({ script: pathToFileURL(join(root, 'endless.mjs')) });
    const calls = Array.from({ length: 1_100 }, () => thread.measure(tree, stop.signal));
    const refused = await Promise.race(calls.slice(1_032).map((call) => call.catch((err: unknown) => err)));
    expect(refused).toMatchObject({ kind: 'unavailable' });
    stop.abort(new Error('aborted'));
    const ends = await Promise.allSettled(calls);
    expect(ends.filter(({ status }) => status === 'rejected')).toHaveLength(1_100);
  });
});
