// The file source on a real directory: what the fake directory of its own tests cannot show.
import { mkdir, mkdtemp, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { staticPodUid } from '../api/static-pod-hash/compute.ts';
import { realClock } from '../base/clock.ts';
import { silentLogger } from '../base/log.ts';
import { listManifests, readManifestFile } from '../edge/host/read-manifest.ts';
import { watchPath } from '../edge/host/watch-dir.ts';
import { FileSource } from '../sources/file-source.ts';
import { makeManifest } from '../sources/manifest-pods.ts';
import { checkLeaks, type LeakCheck } from './leaks.ts';

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
  /** Waits until exactly these pods are published; how long it took. */
  until(...names: readonly string[]): Promise<number>;
  uids(): readonly (string | undefined)[];
}

async function watchManifests(path: string): Promise<Watched> {
  let names: string[] = [];
  let uids: (string | undefined)[] = [];
  let onPublish: () => void = () => undefined;
  const source = new FileSource({
    files: {
      list: listManifests,
      read: readManifestFile,
      watch: (watched, onChange, onError) =>
        watchPath({ path: watched, clock: realClock, onChange, onError }),
    },
    publish: (_source, pods) => {
      names = pods.map((pod) => (pod.metadata?.name ?? '').replace(/-node$/, ''));
      uids = pods.map((pod) => pod.metadata?.uid);
      onPublish();
    },
    clock: realClock,
    log: silentLogger,
    path,
    // So long that only file events can be what makes these tests pass.
    fileCheckMs: 3_600_000,
    makePods: (bytes, origin) => makeManifest(bytes, { ...origin, computeHash: staticPodUid }),
    staticPods: { nodeName: 'node', forbidApiReferences: true },
  });
  const stopping = new AbortController();
  const { stopped } = await source.start(stopping.signal);
  stop = async () => {
    stopping.abort();
    await stopped;
  };
  return {
    uids: () => uids,
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

describe('the file source notices', () => {
  test('files that come, change and go', async () => {
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

  test('the swap of a config map volume', async () => {
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

  test('a directory that goes and comes back', async () => {
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

  test('one file that is replaced', async () => {
    const path = join(root, 'pod.yaml');
    const watched = await watchManifests(path);
    await writeFile(path, manifest('one'));
    await watched.until('one');
    await writeFile(`${path}.new`, manifest('two'));
    await rename(`${path}.new`, path);
    await watched.until('two');
  });

  test('a file that is written slowly, once it is complete', async () => {
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
    // The best of them: on a busy machine any round may be late.
    expect(Math.min(...times)).toBeLessThan(25);
  });
});
