// The thread that decodes large manifests, built as in production: it does not block the event loop, and calls that
// take too long, need too much memory or crash are handled.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { staticPodUid } from '../../../src/api/pod/static-pod-hash/compute.ts';
import { realClock } from '../../../src/base/clock.ts';
import { KubeletError } from '../../../src/base/errors.ts';
import { silentLogger } from '../../../src/base/log/log.ts';
import { DecodeWorker, type DecodeWorkerOptions } from '../../../src/edge/manifests/decode-worker-client.ts';
import { listManifests, readManifestFile } from '../../../src/edge/manifests/read-manifest.ts';
import { buildPodsBySize } from '../../../src/sources/build-pods.ts';
import { FileSource } from '../../../src/sources/file-source.ts';
import {
  type BuildPods,
  type BuiltManifest,
  buildManifest,
  type ManifestOrigin,
} from '../../../src/sources/manifest-pods.ts';
import { checkLeaks, type LeakCheck, threads } from '../../leaks/leaks.ts';

const mebibyte = 2 ** 20;
const origin: ManifestOrigin = {
  nodeName: 'node',
  source: 'file',
  origin: '/manifests/a',
  nowMs: 0,
};

let root = '';
let leaks: LeakCheck;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'decode-worker-'));
  await build({
    entryPoints: [join(import.meta.dirname, '../../../src/entry/decode-worker.ts')],
    outfile: join(root, 'decode-worker.mjs'),
    bundle: true,
    platform: 'node',
    format: 'esm',
    banner: {
      js: "import { createRequire } from 'node:module';const require = createRequire(import.meta.url);",
    },
    logLevel: 'silent',
  });
});

afterAll(() => rm(root, { recursive: true, force: true }));

beforeEach(() => {
  leaks = checkLeaks({ active: threads });
});

afterEach(() => leaks.assertNone());

async function script(text: string): Promise<URL> {
  const path = join(await mkdtemp(join(root, 'script-')), 'script.mjs');
  await writeFile(path, text);
  return pathToFileURL(path);
}

function decodeWorker(options: Partial<DecodeWorkerOptions> = {}): DecodeWorker {
  return new DecodeWorker({
    script: pathToFileURL(join(root, 'decode-worker.mjs')),
    clock: realClock,
    deadlineMs: 60_000,
    memoryMb: 512,
    ...options,
  });
}

function buildPodsBy(worker: DecodeWorker): BuildPods {
  return buildPodsBySize({
    hashes: { computeHash: () => 'unused' },
    decodeInWorker: (work, signal) => worker.call(work, signal),
  });
}

/** Pads a text to 9 MiB. */
function nineMebibytes(head: string, part: (index: number) => string, tail = ''): Uint8Array {
  const parts = [head];
  let length = head.length + tail.length;
  for (let i = 0; length < 9 * mebibyte; i++) {
    const next = part(i);
    parts.push(next);
    length += next.length;
  }
  return Buffer.from([...parts, tail].join(''));
}

const list = 'apiVersion: v1\nkind: PodList\nitems:';
const blockPod = (i: number, lines: number): string =>
  `- metadata:\n    name: p${i}\n  spec:\n    containers:\n    - name: c\n      image: i\n      args:\n      - |\n${'        some text of a script\n'.repeat(lines)}`;
const flowPod = (i: number): string =>
  `${i === 0 ? '' : ', '}{metadata: {name: p${i}}, spec: {containers: [{name: c, image: i, args: [a, b, c, d]}]}}`;

/** The greatest delay of a 5 ms timer during the work. */
async function latenessMs(work: () => Promise<unknown>): Promise<number> {
  let latestMs = 0;
  let lastMs = performance.now();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    latestMs = Math.max(latestMs, nowMs - lastMs - 5);
    lastMs = nowMs;
  }, 5);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return latestMs;
}

/**
 * Decoded in the main thread, these manifests would block it for seconds; a busy machine alone delays timers by less.
 */
const unnoticedMs = 500;

/** The best of a few rounds: on a busy machine any round may be delayed for other reasons. */
async function bestLatenessMs(work: () => Promise<unknown>): Promise<number> {
  let bestMs = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 4 && bestMs > unnoticedMs; round++)
    bestMs = Math.min(bestMs, await latenessMs(work));
  return bestMs;
}

const never = new AbortController().signal;

describe('9 MiB of YAML do not block the event loop', { timeout: 120_000 }, () => {
  test('in block style, with all its pods', async () => {
    const bytes = nineMebibytes(`${list}\n`, (i) => blockPod(i, 2000));
    const buildPods = buildPodsBy(decodeWorker());
    let decoded: BuiltManifest | undefined;
    const late = await bestLatenessMs(async () => {
      decoded = await buildPods(bytes, origin, never);
    });
    expect(late).toBeLessThan(unnoticedMs);
    expect(decoded).toEqual(buildManifest(bytes, { ...origin, computeHash: staticPodUid }));
    expect(decoded?.pods.length).toBeGreaterThan(100);
  });

  test.each([
    ['block', nineMebibytes(`${list}\n`, (i) => blockPod(i, 1))],
    ['flow', nineMebibytes(`${list} [`, flowPod, ']\n')],
  ])('in %s style with very many values, until the deadline', async (_style, bytes) => {
    const buildPods = buildPodsBy(decodeWorker({ deadlineMs: 1000 }));
    const late = await bestLatenessMs(async () => {
      await expect(buildPods(bytes, origin, never)).rejects.toMatchObject({
        kind: 'timeout',
        message: 'takes too long to read: over 1 s',
      });
    });
    expect(late).toBeLessThan(unnoticedMs);
  });
});

describe('a call', () => {
  const bytes = Buffer.from(`${list}\n${Array.from({ length: 200 }, (_, i) => blockPod(i, 5)).join('')}`);
  const want = buildManifest(bytes, { ...origin, computeHash: staticPodUid });

  test('returns the pods; several calls share one thread', async () => {
    const buildPods = buildPodsBy(decodeWorker());
    const decoded = await Promise.all([1, 2, 3].map(async () => buildPods(bytes, origin, never)));
    expect(want.pods).toHaveLength(200);
    expect(decoded).toEqual([want, want, want]);
    expect(await buildPods(bytes, origin, never)).toEqual(want);
  });

  test('reuses the thread of the previous call, unless it was idle in between', async () => {
    const counting = await script(`import { parentPort, threadId } from 'node:worker_threads';
      let calls = 0;
      parentPort.on('message', ({ is }) =>
        parentPort.postMessage(is === 'next' ? { is: 'end' } : { is: 'part', part: { threadId, call: ++calls } }));`);
    const worker = decodeWorker({ script: counting });
    const both = await Promise.all([worker.call('x', never), worker.call('y', never)]);
    const [later] = await worker.call<{ threadId: number }>('z', never);
    const [[first], [second]] = both as [[{ threadId: number }], [{ threadId: number }]];
    expect([first, second]).toEqual([
      { threadId: first.threadId, call: 1 },
      { threadId: first.threadId, call: 2 },
    ]);
    expect(later).toMatchObject({ call: 1 });
    expect(later?.threadId).not.toBe(first.threadId);
  });

  test('has a running thread only while it is in flight', async () => {
    const before = threads().filter((name) => name === 'PipeWrap').length;
    const stop = new AbortController();
    const ended = decodeWorker({ script: await script('setInterval(() => undefined, 1000);') }).call(
      'x',
      stop.signal,
    );
    await realClock.sleep(1);
    expect(threads().filter((name) => name === 'PipeWrap').length).toBeGreaterThan(before);
    stop.abort();
    await expect(ended).rejects.toThrow('abort');
  });

  test('that needs too much memory is rejected, and the next one succeeds', async () => {
    const worker = decodeWorker({ memoryMb: 16 });
    const big = nineMebibytes(`${list} [`, flowPod, ']\n').subarray(0, 2 * mebibyte);
    await expect(buildPodsBy(worker)(big, origin, never)).rejects.toMatchObject({
      kind: 'invalid',
      message: 'needs too much memory to read: over 16 MiB',
    });
    expect(await buildPodsBy(worker)(bytes.subarray(0), origin, never)).toEqual(want);
  }, 60_000);

  test('that is aborted rejects at once, before and during the work', async () => {
    const worker = decodeWorker();
    const stop = new AbortController();
    const [first, second] = [worker.call('x', stop.signal), worker.call('y', stop.signal)];
    const reason = new Error('stopped');
    stop.abort(reason);
    await expect(first).rejects.toBe(reason);
    await expect(second).rejects.toBe(reason);
  });

  test.each([
    ['throws', "throw new Error('broken');", 'could not be read: broken'],
    ['ends', 'process.exit(3);', 'could not be read: the reading thread has ended'],
    [
      'returns a failure',
      "import { parentPort } from 'node:worker_threads';parentPort.on('message', () => parentPort.postMessage({ is: 'failure', message: 'why' }));",
      'could not be read: why',
    ],
    ['is not a script', 'this is no script', 'could not be read: Unexpected identifier'],
  ])('whose thread %s fails, and later calls succeed', async (_what, text, message) => {
    const worker = decodeWorker({ script: await script(text) });
    const err: unknown = await worker.call('x', never).catch((caught: unknown) => caught);
    expect(err).toBeInstanceOf(KubeletError);
    expect(err).toMatchObject({ kind: 'internal' });
    expect(`${(err as Error).message}: ${String((err as Error).cause)}`).toContain(message);
  });

  test('whose script is missing fails', async () => {
    const worker = decodeWorker({ script: pathToFileURL(join(root, 'nothing.mjs')) });
    await expect(worker.call('x', never)).rejects.toMatchObject({ kind: 'internal' });
  });
});

test('a manifest that takes too long is reported, and the others run', async () => {
  const directory = await mkdtemp(join(root, 'manifests-'));
  const small = `apiVersion: v1\nkind: Pod\nmetadata: {name: small}\nspec: {containers: [{name: c, image: i}]}\n`;
  await writeFile(join(directory, 'a.yaml'), nineMebibytes(`${list} [`, flowPod, ']\n'));
  await writeFile(join(directory, 'b.yaml'), small);
  await writeFile(join(directory, 'c.yaml'), `${list}\n${blockPod(1, 2000)}`);
  const faults: unknown[] = [];
  const sets: string[][] = [];
  const source = new FileSource({
    files: {
      list: listManifests,
      read: readManifestFile,
      watch: () => ({ close: () => undefined, takeRemoved: async () => [] }),
    },
    buildPods: buildPodsBy(decodeWorker({ deadlineMs: 2000 })),
    publish: (_source, pods) => sets.push(pods.map((pod) => pod.metadata?.name ?? '')),
    clock: realClock,
    log: { ...silentLogger, error: (message, fields) => faults.push([message, fields]) },
    path: directory,
    fileCheckMs: 3_600_000,
    staticPods: { nodeName: 'node' },
    podsOnNode: async () => ({ running: [], present: [] }),
  });
  const stop = new AbortController();
  const { stopped } = await source.start(stop.signal);
  stop.abort();
  await stopped;
  expect(sets).toEqual([['small-node', 'p1-node']]);
  expect(faults).toEqual([
    [
      'Failed to process manifest file',
      { path: join(directory, 'a.yaml'), reason: 'takes too long to read: over 2 s' },
    ],
  ]);
}, 60_000);
