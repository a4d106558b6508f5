// The thread that measures large trees, as it is built: that it counts as the walk beside the event loop does, leaves the loop
// alone, and what becomes of a call that is given up or whose thread breaks down.
import { link, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { VolumeFiles } from '../edge/volumes/volume-files.ts';
import { checkLeaks, type LeakCheck, threads } from './leaks.ts';

describe('measuring in a thread', () => {
  const signal = new AbortController().signal;
  let root = '';
  let tree = '';
  let leaks: LeakCheck;

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'usage-thread-'));
    await build({
      entryPoints: [join(import.meta.dirname, '../edge/volumes/usage-thread.ts')],
      outfile: join(root, 'usage-thread.mjs'),
      bundle: true,
      platform: 'node',
      format: 'esm',
      logLevel: 'silent',
    });
    await writeFile(join(root, 'broken.mjs'), 'throw new Error("broken")');
    await writeFile(join(root, 'silent.mjs'), 'process.exit(0)');
    await writeFile(join(root, 'endless.mjs'), 'for (;;) {}');
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

  test('counts what the walk beside the event loop counts', async () => {
    const counted = await by('usage-thread.mjs').usage(tree, signal);
    expect(counted).toEqual(await by(undefined).usage(tree, signal));
    expect(counted.inodes).toBe(3_005);
  });

  test('a small tree needs no thread', async () => {
    expect((await by('broken.mjs').usage(join(tree, 'c'), signal)).inodes).toBe(1_002);
  });

  test('what is not there is not found; a thread that breaks down or ends is told', async () => {
    await expect(by('usage-thread.mjs').usage(join(tree, 'none'), signal)).rejects.toMatchObject({
      kind: 'not-found',
    });
    await expect(by('broken.mjs').usage(tree, signal)).rejects.toThrow('cannot measure');
    await expect(by('silent.mjs').usage(tree, signal)).rejects.toThrow('has ended');
  });

  test('a walk that never ends is given up, and the event loop never waited for it', async () => {
    const stop = new AbortController();
    const measured = by('endless.mjs').usage(tree, stop.signal);
    let turns = 0;
    const turn = (): void => {
      turns += 1;
      if (turns < 10_000) setImmediate(turn);
      else stop.abort(new Error('enough'));
    };
    setImmediate(turn);
    await expect(measured).rejects.toThrow('enough');
  });
});
