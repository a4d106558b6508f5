// On a real temporary directory: every change of a directory, a file or a link must be reported.
import { rmSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { type Clock, realClock } from '../../base/clock.ts';
import { watchPath } from './watch-dir.ts';

type WatchOptions = Parameters<typeof watchPath>[0];

let root = '';
let open: { close(): void }[] = [];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'watch-dir-'));
});

afterEach(async () => {
  for (const watcher of open) watcher.close();
  open = [];
  await rm(root, { recursive: true, force: true });
});

interface Reports {
  count: number;
  readonly errors: unknown[];
  /** Waits for a report that was not awaited yet. Returns how long it took. */
  next(): Promise<number>;
  /** Waits until there was no report for a while. */
  quiet(): Promise<void>;
}

function follow(path: string, clock: Clock = realClock, removed?: WatchOptions['removed']): Reports {
  const errors: unknown[] = [];
  let wake: () => void = () => undefined;
  let taken = 0;
  const reports: Reports = {
    count: 0,
    errors,
    next: async () => {
      const sinceMs = realClock.monotonic();
      while (reports.count === taken) {
        const woken = new Promise<void>((resolve) => {
          wake = resolve;
        });
        let late = false;
        const timer = realClock.setTimer(3000, () => {
          late = true;
          wake();
        });
        await woken;
        timer.cancel();
        if (late) throw new Error('no report within 3 s');
      }
      taken = reports.count;
      return realClock.monotonic() - sinceMs;
    },
    quiet: async () => {
      let seen = -1;
      while (seen !== reports.count) {
        seen = reports.count;
        await realClock.sleep(60);
      }
      taken = reports.count;
    },
  };
  open.push(
    watchPath({
      path,
      clock,
      onChange: () => {
        reports.count += 1;
        wake();
      },
      onError: (err) => errors.push(err),
      ...(removed && { removed }),
    }),
  );
  return reports;
}

async function settled(path: string): Promise<Reports> {
  const reports = follow(path);
  await reports.next();
  await reports.quiet();
  return reports;
}

type Step = () => Promise<unknown>;

const cases: readonly (readonly [string, { path?: string; before?: Step; change: Step }])[] = [
  ['a file is created', { change: () => writeFile(join(root, 'm/a'), '1') }],
  [
    'a file is moved in',
    {
      before: () => writeFile(join(root, 'a'), '1'),
      change: () => rename(join(root, 'a'), join(root, 'm/a')),
    },
  ],
  [
    'a file is moved out',
    {
      before: () => writeFile(join(root, 'm/a'), '1'),
      change: () => rename(join(root, 'm/a'), join(root, 'a')),
    },
  ],
  [
    'a file is written in place',
    { before: () => writeFile(join(root, 'm/a'), '1'), change: () => writeFile(join(root, 'm/a'), '2') },
  ],
  [
    'a file is removed',
    { before: () => writeFile(join(root, 'm/a'), '1'), change: () => unlink(join(root, 'm/a')) },
  ],
  [
    'a dot name is relinked',
    {
      before: async () => {
        await mkdir(join(root, 'm/..1'));
        await mkdir(join(root, 'm/..2'));
        await symlink('..1', join(root, 'm/..data'));
      },
      change: async () => {
        await symlink('..2', join(root, 'm/..tmp'));
        await rename(join(root, 'm/..tmp'), join(root, 'm/..data'));
      },
    },
  ],
  [
    'the target of a linked file is written in place',
    {
      before: async () => {
        await mkdir(join(root, 'other'));
        await writeFile(join(root, 'other/a'), '1');
        await symlink('../other/a', join(root, 'm/a'));
      },
      change: () => writeFile(join(root, 'other/a'), '2'),
    },
  ],
  [
    'a link on the way to a linked file is swapped',
    {
      before: async () => {
        await mkdir(join(root, 'one'));
        await mkdir(join(root, 'two'));
        await writeFile(join(root, 'one/a'), '1');
        await writeFile(join(root, 'two/a'), '2');
        await symlink('one', join(root, 'current'));
        await symlink(join(root, 'current/a'), join(root, 'm/a'));
      },
      change: async () => {
        await symlink('two', join(root, 'next'));
        await rename(join(root, 'next'), join(root, 'current'));
      },
    },
  ],
  [
    'the directory is a link, and a file is created in its target',
    {
      path: 'link',
      before: () => symlink('m', join(root, 'link')),
      change: () => writeFile(join(root, 'm/a'), '1'),
    },
  ],
  ['the directory is removed', { change: () => rm(join(root, 'm'), { recursive: true }) }],
  ['the directory is moved away', { change: () => rename(join(root, 'm'), join(root, 'away')) }],
  ['the path does not exist and is created', { path: 'new', change: () => mkdir(join(root, 'new')) }],
  ['its parents do not exist and are created', { path: 'x/y/z', change: () => mkdir(join(root, 'x')) }],
  [
    'the path is one file, replaced by a rename',
    {
      path: 'm/a',
      before: () => writeFile(join(root, 'm/a'), '1'),
      change: async () => {
        await writeFile(join(root, 'b'), '2');
        await rename(join(root, 'b'), join(root, 'm/a'));
      },
    },
  ],
];

describe('watchPath reports when', () => {
  for (const [name, { path = 'm', before, change }] of cases)
    test(name, async () => {
      await mkdir(join(root, 'm'));
      await before?.();
      const reports = await settled(join(root, path));
      await change();
      expect(await reports.next()).toBeLessThan(1000);
      expect(reports.errors).toEqual([]);
    });

  test('a file is created after the directory was replaced or recreated', async () => {
    const directory = join(root, 'm');
    await mkdir(directory);
    const reports = await settled(directory);
    for (const round of [1, 2, 3]) {
      await rm(directory, { recursive: true });
      if (round === 2) await reports.quiet();
      await mkdir(directory);
      await reports.next();
      await reports.quiet();
      await writeFile(join(directory, 'a'), '1');
      await reports.next();
      await reports.quiet();
    }
    expect(reports.errors).toEqual([]);
  });

  test('a linked directory is relinked, and from then on only changes of the new target', async () => {
    await mkdir(join(root, 'one'));
    await mkdir(join(root, 'two'));
    await symlink('one', join(root, 'm'));
    const reports = await settled(join(root, 'm'));
    await symlink('two', join(root, 'next'));
    await rename(join(root, 'next'), join(root, 'm'));
    await reports.next();
    await reports.quiet();
    await writeFile(join(root, 'two/a'), '1');
    await reports.next();
    await reports.quiet();
    const before = reports.count;
    await writeFile(join(root, 'one/a'), '1');
    await realClock.sleep(100);
    expect(reports.count).toBe(before);
  });

  test('the path is created while the watch is being set up', async () => {
    for (let round = 0; round < 20; round++) {
      const directory = join(root, `m${round}`);
      const reports = follow(directory);
      // Somewhere between the search for directories to watch and the watch itself.
      for (let turn = 0; turn < round % 5; turn++) await new Promise((resolve) => setImmediate(resolve));
      await mkdir(directory);
      await reports.next();
      await reports.quiet();
      await writeFile(join(directory, 'a'), '1');
      expect(await reports.next()).toBeLessThan(3000);
    }
  });

  test('a directory is removed between the search for it and its watch', async () => {
    await mkdir(join(root, 'm'));
    await mkdir(join(root, 'other'));
    await writeFile(join(root, 'other/a'), '1');
    await symlink('../other/a', join(root, 'm/a'));
    // Called when m is watched and other is not yet.
    const collect = (): { close(): void } => {
      rmSync(join(root, 'other'), { recursive: true, force: true });
      return { close: () => undefined };
    };
    const reports = follow(join(root, 'm'), realClock, { collect });
    await reports.next();
    await reports.quiet();
    await mkdir(join(root, 'other'));
    await writeFile(join(root, 'other/a'), '2');
    await reports.next();
  });

  test('the target of a new link changes before it is watched', async () => {
    await mkdir(join(root, 'm'));
    await mkdir(join(root, 'other'));
    for (const name of ['a', 'b']) await writeFile(join(root, 'other', name), '1');
    await symlink('../other/a', join(root, 'm/a'));
    const reports = await settled(join(root, 'm'));
    await symlink('../other/b', join(root, 'm/b'));
    await reports.next();
    // Links are followed when a burst of changes is over.
    await writeFile(join(root, 'other/b'), '2');
    expect(await reports.next()).toBeLessThan(1000);
  });

  test('parents are created one by one down to the file', async () => {
    const reports = await settled(join(root, 'x/y/z'));
    await mkdir(join(root, 'x'));
    await reports.next();
    await reports.quiet();
    await mkdir(join(root, 'x/y/z'), { recursive: true });
    await reports.next();
    await reports.quiet();
    await writeFile(join(root, 'x/y/z/a'), '1');
    await reports.next();
  });
});

describe('watchPath', () => {
  test('reports a rename within 25 ms', async () => {
    await mkdir(join(root, 'm'));
    const reports = await settled(join(root, 'm'));
    const times: number[] = [];
    for (let round = 0; round < 9; round++) {
      await writeFile(join(root, 'new'), `${round}`);
      await rename(join(root, 'new'), join(root, `m/${round}`));
      times.push(await reports.next());
      await reports.quiet();
    }
    // The best round: on a loaded machine any of them may be late.
    expect(Math.min(...times)).toBeLessThan(25);
  });

  test('coalesces the events of a burst, for a bounded time', async () => {
    await mkdir(join(root, 'm'));
    const clock = new FakeClock();
    const reports = follow(join(root, 'm'), clock);
    await reports.next();
    await clock.advance(10);
    await realClock.sleep(50);
    const before = reports.count;
    for (let index = 0; index < 30; index++) await writeFile(join(root, `m/${index}`), '1');
    await realClock.sleep(100);
    expect(reports.count).toBe(before);
    await clock.advance(15);
    expect(reports.count).toBe(before + 1);
    // Never quiet for the full delay.
    for (let round = 0; round < 20; round++) {
      await writeFile(join(root, 'm/0'), `${round}`);
      await realClock.sleep(10);
      await clock.advance(10);
    }
    expect(reports.count).toBeGreaterThan(before + 1);
  });

  test('does not report siblings of the path', async () => {
    await mkdir(join(root, 'm'));
    const reports = await settled(join(root, 'm'));
    const before = reports.count;
    await writeFile(join(root, 'neighbour'), '1');
    await realClock.sleep(80);
    expect(reports.count).toBe(before);
  });

  test('reports nothing after close', async () => {
    await mkdir(join(root, 'm'));
    const reports = await settled(join(root, 'm'));
    await writeFile(join(root, 'm/a'), '1');
    for (const watcher of open) watcher.close();
    // On a loaded machine the report may precede the close.
    const before = reports.count;
    await realClock.sleep(80);
    expect(reports.count).toBe(before);
  });
});
