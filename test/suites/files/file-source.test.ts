// The file source on a real directory, with real file events.
import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { staticPodUid } from '../../../src/api/pod/static-pod-hash/compute.ts';
import { realClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log/log.ts';
import { listManifests, readManifestFile } from '../../../src/edge/manifests/read-manifest.ts';
import { watchManifests as watchRealManifests } from '../../../src/edge/manifests/watch-manifests.ts';
import { loadSyscalls } from '../../../src/edge/syscalls/syscalls.ts';
import { FileSource } from '../../../src/sources/file-source.ts';
import { buildManifest } from '../../../src/sources/manifest-pods.ts';
import { checkLeaks, type LeakCheck } from '../../leaks/leaks.ts';

let root = '';
let leaks: LeakCheck;
let stop: () => Promise<void> = async () => undefined;

beforeEach(async () => {
  leaks = checkLeaks();
  root = await mkdtemp(join(tmpdir(), 'file-source-'));
});

afterEach(async () => {
  await stop();
  await rm(root, { recursive: true, force: true });
  await leaks.assertNone();
});

interface Watched {
  /** The names of every published set. */
  readonly sets: readonly string[];
  /** Waits until exactly these pods are published. Returns how long it took. */
  until(...names: readonly string[]): Promise<number>;
  uids(): readonly (string | undefined)[];
  /** Whether the directory is watched: the watch announces a change once it is in place. */
  isWatching(): boolean;
}

async function watchManifests(path: string): Promise<Watched> {
  let names: string[] = [];
  const sets: string[] = [];
  let uids: (string | undefined)[] = [];
  let onPublish: () => void = () => undefined;
  let isWatching = false;
  const source = new FileSource({
    files: {
      list: listManifests,
      read: readManifestFile,
      watch: (watchedPath, onChange, onError) =>
        watchRealManifests(realClock)(
          watchedPath,
          () => {
            isWatching = true;
            onChange();
          },
          onError,
        ),
    },
    publish: (_source, pods) => {
      names = pods.map((pod) => (pod.metadata?.name ?? '').replace(/-node$/, ''));
      uids = pods.map((pod) => pod.metadata?.uid);
      sets.push(names.join());
      onPublish();
    },
    clock: realClock,
    log: silentLogger,
    path,
    // So long that these tests can pass only by file events.
    fileCheckMs: 3_600_000,
    buildPods: (bytes, origin) => buildManifest(bytes, { ...origin, computeHash: staticPodUid }),
    staticPods: { nodeName: 'node' },
    podsOnNode: async () => ({ running: [], present: [] }),
  });
  const stopping = new AbortController();
  const { stopped } = await source.start(stopping.signal);
  stop = async () => {
    stopping.abort();
    await stopped;
  };
  return {
    sets,
    uids: () => uids,
    isWatching: () => isWatching,
    until: async (...wanted) => {
      const sinceMs = realClock.monotonic();
      let late = false;
      while (names.join() !== wanted.join()) {
        if (late) throw new Error(`published ${names.join()} instead of ${wanted.join()}`);
        const published = new Promise<void>((resolve) => {
          onPublish = resolve;
        });
        const timer = realClock.setTimer(3000, () => {
          late = true;
          onPublish();
        });
        await published;
        timer.cancel();
      }
      return realClock.monotonic() - sinceMs;
    },
  };
}

function manifest(name: string): string {
  return `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec: {containers: [{name: c, image: i}]}\n`;
}

/** Waits until koffi is loaded, since removals are collected only from then on. */
async function watchWithRemovals(path: string): Promise<Watched> {
  await loadSyscalls();
  const watched = await watchManifests(path);
  await expect.poll(() => watched.isWatching(), { timeout: 5_000, interval: 5 }).toBe(true);
  return watched;
}

describe('a manifest with the same content', () => {
  const ways: readonly (readonly [string, (path: string) => Promise<void>, readonly string[]])[] = [
    [
      'that is removed and written again is withdrawn once',
      async (path) => {
        unlinkSync(path);
        writeFileSync(path, manifest('one'));
      },
      ['', 'one'],
    ],
    [
      'that is moved out and back is withdrawn once',
      async (path) => {
        renameSync(path, `${root}/aside`);
        renameSync(`${root}/aside`, path);
      },
      ['', 'one'],
    ],
    [
      'that is replaced by several renames at once is not withdrawn',
      async (path) => {
        for (const each of ['x', 'y', 'z']) {
          writeFileSync(`${root}/${each}`, manifest('one'));
          renameSync(`${root}/${each}`, path);
        }
      },
      [],
    ],
    [
      'that is replaced by a rename within the directory is not withdrawn',
      async (path) => {
        writeFileSync(`${root}/m/.new`, manifest('one'));
        renameSync(`${root}/m/.new`, path);
      },
      [],
    ],
    [
      'that is saved by an editor with a backup file is not withdrawn',
      async (path) => {
        renameSync(path, `${root}/m/.backup`);
        writeFileSync(path, manifest('one'));
        unlinkSync(`${root}/m/.backup`);
      },
      [],
    ],
    ['that is written in place is not withdrawn', async (path) => writeFileSync(path, manifest('one')), []],
    [
      'in a directory that replaces its own is not withdrawn',
      async (path) => {
        mkdirSync(`${root}/next`);
        writeFileSync(`${root}/next/a.yaml`, manifest('one'));
        renameSync(`${root}/m`, `${root}/old`);
        renameSync(`${root}/next`, `${root}/m`);
        rmSync(`${root}/old`, { recursive: true });
        expect(path).toBe(`${root}/m/a.yaml`);
      },
      [],
    ],
  ];
  test.each(ways)('%s', async (_name, change, sets) => {
    mkdirSync(`${root}/m`);
    writeFileSync(`${root}/m/a.yaml`, manifest('one'));
    const watched = await watchWithRemovals(`${root}/m`);
    await watched.until('one');
    const before = watched.sets.length;
    await change(`${root}/m/a.yaml`);
    await expect.poll(() => watched.sets.length - before).toBeGreaterThanOrEqual(sets.length);
    await realClock.sleep(400);
    expect(watched.sets.slice(before)).toEqual(sets);
  });

  test('that is the only one, removed and written again, is withdrawn once', async () => {
    const path = `${root}/a.yaml`;
    writeFileSync(path, manifest('one'));
    const watched = await watchWithRemovals(path);
    await watched.until('one');
    unlinkSync(path);
    writeFileSync(path, manifest('one'));
    await realClock.sleep(400);
    expect(watched.sets).toEqual(['one', '', 'one']);
  });

  test.each(['directory', 'single file'])(
    'that a ConfigMap volume swaps is not withdrawn, %s',
    async (what) => {
      for (const version of ['..1', '..2']) {
        mkdirSync(join(root, version));
        writeFileSync(join(root, version, 'pod.yaml'), manifest('one'));
      }
      symlinkSync('..1', join(root, '..data'));
      symlinkSync('..data/pod.yaml', join(root, 'pod.yaml'));
      const watched = await watchWithRemovals(what === 'directory' ? root : join(root, 'pod.yaml'));
      await watched.until('one');
      symlinkSync('..2', join(root, '..data_tmp'));
      renameSync(join(root, '..data_tmp'), join(root, '..data'));
      rmSync(join(root, '..1'), { recursive: true });
      await realClock.sleep(400);
      expect(watched.sets).toEqual(['one']);
    },
  );

  test('below a ConfigMap volume that swaps its data is not withdrawn', async () => {
    for (const version of ['..1', '..2']) {
      mkdirSync(join(root, version));
      writeFileSync(join(root, version, 'pod.yaml'), manifest('one'));
    }
    symlinkSync('..1', join(root, '..data'));
    const watched = await watchWithRemovals(join(root, '..data'));
    await watched.until('one');
    symlinkSync('..2', join(root, '..data_tmp'));
    renameSync(join(root, '..data_tmp'), join(root, '..data'));
    rmSync(join(root, '..1'), { recursive: true });
    await realClock.sleep(400);
    expect(watched.sets).toEqual(['one']);
  });
});

describe('the file source detects', () => {
  test('files that are created, changed and removed', async () => {
    const watched = await watchManifests(root);
    await writeFile(join(root, 'a.yaml'), manifest('one'));
    await watched.until('one');
    const [before] = watched.uids();
    await writeFile(join(root, 'a.yaml'), manifest('two'));
    await watched.until('two');
    expect(watched.uids()).not.toEqual([before]);
    await writeFile(join(root, 'a.yaml'), manifest('one'));
    await watched.until('one');
    expect(watched.uids()).toEqual([before]);
    await unlink(join(root, 'a.yaml'));
    await watched.until();
  });

  test('the data swap of a ConfigMap volume', async () => {
    for (const [version, name] of [
      ['..1', 'one'],
      ['..2', 'two'],
    ] as const) {
      await mkdir(join(root, version));
      await writeFile(join(root, version, 'pod.yaml'), manifest(name));
    }
    await symlink('..1', join(root, '..data'));
    await symlink('..data/pod.yaml', join(root, 'pod.yaml'));
    const watched = await watchManifests(root);
    await watched.until('one');
    await symlink('..2', join(root, '..data_tmp'));
    await rename(join(root, '..data_tmp'), join(root, '..data'));
    await watched.until('two');
  });

  test('a directory that is removed and created again', async () => {
    const directory = join(root, 'manifests');
    await mkdir(directory);
    await writeFile(join(directory, 'a'), manifest('one'));
    const watched = await watchManifests(directory);
    await watched.until('one');
    await rm(directory, { recursive: true });
    await watched.until();
    await mkdir(directory);
    await writeFile(join(directory, 'a'), manifest('two'));
    await watched.until('two');
    await writeFile(join(directory, 'b'), manifest('three'));
    await watched.until('two', 'three');
  });

  test('a replaced single file', async () => {
    const path = join(root, 'pod.yaml');
    const watched = await watchManifests(path);
    await writeFile(path, manifest('one'));
    await watched.until('one');
    await writeFile(`${path}.new`, manifest('two'));
    await rename(`${path}.new`, path);
    await watched.until('two');
  });

  test('a slowly written file once it is complete', async () => {
    const watched = await watchManifests(root);
    const text = manifest('one');
    for (let length = 10; length < text.length; length += 10) {
      await writeFile(join(root, 'a'), text.slice(0, length));
      await realClock.sleep(20);
    }
    await writeFile(join(root, 'a'), text);
    await watched.until('one');
  });

  test('a manifest that is moved in within 25 ms', async () => {
    const watched = await watchManifests(join(root, 'm'));
    await mkdir(join(root, 'm'));
    await writeFile(join(root, 'm', 'warm'), manifest('warm'));
    await watched.until('warm');
    await realClock.sleep(100);
    const times: number[] = [];
    const names = ['warm'];
    for (let round = 0; round < 9; round++) {
      await writeFile(join(root, 'new'), manifest(`p${round}`));
      await rename(join(root, 'new'), join(root, 'm', `x${round}`));
      names.push(`p${round}`);
      times.push(await watched.until(...names));
      await realClock.sleep(30);
    }
    // The best round: on a busy machine any round may be late.
    expect(Math.min(...times)).toBeLessThan(25);
  });
});
