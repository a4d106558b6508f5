import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import type { Pod } from '../api/k8s/types.ts';
import { podRef } from '../api/pod/pod-ref.ts';
import { KubeletError } from '../base/errors.ts';
import type { LogFields, Logger } from '../base/log/log.ts';
import {
  FileSource,
  type ManifestEntry,
  type ManifestFiles,
  type ManifestListing,
  type ManifestWatch,
} from './file-source.ts';
import { settleMs } from './known-file.ts';
import { type BuiltManifest, buildManifest } from './manifest-pods.ts';
import type { ComputeHash } from './static-pod.ts';

const path = '/manifests';
const fileCheckMs = 20_000;

interface FakeFile {
  text: string;
  version: number;
  changedAtMs: number;
  kind: ManifestEntry['kind'];
  failure?: KubeletError;
}

/** A directory in memory, with faults. */
class FakeFiles implements ManifestFiles {
  readonly #clock: FakeClock;
  readonly #files = new Map<string, FakeFile>();
  #version = 0;
  reads: string[] = [];
  listing: 'directory' | 'missing' | 'other' | KubeletError = 'directory';
  stalled: Promise<void> | undefined;
  /** Removed paths, even if they exist again. */
  removed: string[] = [];
  /** Duration of each read. */
  readMs = 0;
  watchers = new Set<{ onChange: () => void; onError: (err: unknown) => void }>();

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  /** Content that is old enough to be settled, by default. */
  put(
    name: string,
    text: string,
    options: { fresh?: boolean; kind?: FakeFile['kind']; failure?: KubeletError } = {},
  ): void {
    const changedAtMs = options.fresh === true ? this.#clock.now() : this.#clock.now() - 60_000;
    this.#version += 1;
    this.#files.set(`${path}/${name}`, {
      text,
      version: this.#version,
      changedAtMs,
      kind: 'file',
      ...options,
    });
  }

  remove(name: string): void {
    this.#files.delete(`${path}/${name}`);
  }

  event(): void {
    for (const watcher of this.watchers) watcher.onChange();
  }

  async list(): Promise<ManifestListing> {
    await this.stalled;
    if (this.listing instanceof KubeletError) throw this.listing;
    if (this.listing !== 'directory') return { kind: this.listing };
    const names = [...this.#files.keys()].sort();
    const entries = names.map((name): ManifestEntry => {
      const file = this.#files.get(name);
      const reason = file?.kind === 'unreadable' ? { reason: 'permission denied' } : {};
      return { path: name, kind: file?.kind ?? 'missing', stamp: `${file?.version ?? ''}`, ...reason };
    });
    return { kind: 'directory', entries };
  }

  async read(name: string): Promise<{ bytes: Uint8Array; stamp: string; changedAtMs: number }> {
    this.reads.push(name.slice(path.length + 1));
    if (this.readMs > 0) await this.#clock.sleep(this.readMs);
    const file = this.#files.get(name);
    if (file === undefined) throw new KubeletError('not-found', 'ManifestUnreadable', 'it does not exist');
    if (file.failure !== undefined) throw file.failure;
    return { bytes: Buffer.from(file.text), stamp: `${file.version}`, changedAtMs: file.changedAtMs };
  }

  watch(_path: string, onChange: () => void, onError: (err: unknown) => void): ManifestWatch {
    const watcher = { onChange, onError };
    this.watchers.add(watcher);
    const takeRemoved = async (): Promise<readonly string[]> => this.removed.splice(0);
    return { close: () => this.watchers.delete(watcher), takeRemoved };
  }
}

function recorder(lines: string[]): Logger {
  const write =
    (level: string) =>
    (message: string, fields: LogFields = {}): void => {
      const { path: subject, reason, keeping } = fields as Record<string, string | undefined>;
      const why = reason === undefined ? '' : `: ${reason}`;
      lines.push(
        `${level} ${message} ${subject ?? ''}${why}${keeping === undefined ? '' : ` (keeping ${keeping})`}`,
      );
    };
  const log: Logger = {
    info: write('I'),
    warn: write('W'),
    error: write('E'),
    v: () => ({ enabled: false, info: () => undefined }),
    with: () => log,
  };
  return log;
}

function manifest(name: string, more = ''): string {
  return `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}${more}}\nspec: {containers: [{name: c, image: i}]}\n`;
}

interface Rig {
  readonly clock: FakeClock;
  readonly files: FakeFiles;
  readonly lines: string[];
  /** Every published set. */
  readonly sets: (readonly Pod[])[];
  /** The names in the last set, without the node's name. */
  names(): string[] | undefined;
  /** Sends a file event and lets time pass. */
  change(): Promise<void>;
  stop(): Promise<void>;
}

type SlowWork = (make: () => BuiltManifest, signal: AbortSignal) => Promise<BuiltManifest>;

const computeHash: ComputeHash = (pod, { source }) =>
  `${source}#${JSON.stringify(pod.metadata)}${JSON.stringify(pod.spec)}`;

async function start(
  prepare: (files: FakeFiles) => void = () => undefined,
  slow: (bytes: Uint8Array) => SlowWork | undefined = () => undefined,
): Promise<Rig> {
  const clock = new FakeClock();
  const files = new FakeFiles(clock);
  prepare(files);
  const lines: string[] = [];
  const sets: (readonly Pod[])[] = [];
  const source = new FileSource({
    files,
    publish: (_source, pods) => sets.push(pods),
    clock,
    log: recorder(lines),
    path: `${path}/`,
    fileCheckMs,
    buildPods: (bytes, origin, signal) => {
      const make = () => buildManifest(bytes, { ...origin, computeHash });
      return slow(bytes)?.(make, signal) ?? make();
    },
    staticPods: { nodeName: 'node-1' },
    podsOnNode: async () => ({ running: [], present: [] }),
  });
  const stopping = new AbortController();
  const started = source.start(stopping.signal);
  const rig: Rig = {
    clock,
    files,
    lines,
    sets,
    names: () => sets.at(-1)?.map((pod) => (podRef(pod).split('/')[1] ?? '').replace(/-node-1$/, '')),
    change: async () => {
      files.event();
      await clock.settle();
    },
    stop: async () => {
      stopping.abort();
      await (await started).stopped;
    },
  };
  await clock.settle();
  return rig;
}

describe('the file source publishes', () => {
  test('a set without the pods of a removed manifest, even if the same manifest exists again', async () => {
    const rig = await start((files) => {
      files.put('a.yaml', manifest('a'));
      files.put('b.yaml', manifest('b'));
    });
    rig.files.put('a.yaml', manifest('a'));
    rig.files.removed.push(`${path}/a.yaml`);
    await rig.change();
    expect(rig.sets.map((set) => set.map(podRef).join())).toEqual([
      'default/a-node-1,default/b-node-1',
      'default/b-node-1',
      'default/a-node-1,default/b-node-1',
    ]);
    // A broken manifest keeps the pod it replaces; after a removal there is no pod to keep.
    rig.files.put('a.yaml', 'garbage: [');
    rig.files.removed.push(`${path}/a.yaml`);
    await rig.change();
    expect(rig.names()).toEqual(['b']);
    await rig.stop();
  });

  test('nothing while the directory cannot be listed, even if a manifest was removed', async () => {
    const rig = await start((files) => files.put('a.yaml', manifest('a')));
    rig.files.listing = new KubeletError('unavailable', 'EIO', 'the disk does not answer');
    rig.files.removed.push(`${path}/a.yaml`);
    await rig.change();
    expect(rig.sets).toHaveLength(1);
    rig.files.listing = 'directory';
    await rig.change();
    expect(rig.sets.map((set) => set.length)).toEqual([1, 0, 1]);
    await rig.stop();
  });

  test('each manifest while others are still to be read, but the first set only when it is complete', async () => {
    const rig = await start((files) => {
      files.readMs = 5;
      for (const name of ['a', 'z']) files.put(`${name}.yaml`, manifest(name));
    });
    await rig.clock.advance(100);
    expect(rig.sets).toHaveLength(1);
    for (const name of ['b', 'c', 'd']) rig.files.put(`${name}.yaml`, manifest(name));
    await rig.change();
    await rig.clock.advance(100);
    expect(
      rig.sets.map((set) =>
        set.map((pod) => podRef(pod).slice('default/'.length, 'default/'.length + 1)).join(''),
      ),
    ).toEqual(['az', 'abz', 'abcz', 'abcdz']);
    await rig.stop();
  });

  test('an empty set once for an empty directory', async () => {
    const rig = await start();
    expect(rig.sets).toEqual([[]]);
    await rig.clock.advance(3 * fileCheckMs);
    expect(rig.sets).toHaveLength(1);
    await rig.stop();
  });

  test('the pods of all files in the order of their names, with the annotations of static pods', async () => {
    const rig = await start((files) => {
      files.put('b.yaml', manifest('two'));
      files.put('a.yaml', `${manifest('one')}---\n${manifest('three', ', namespace: kube-system')}`);
    });
    expect(rig.names()).toEqual(['one', 'three', 'two']);
    expect(rig.sets[0]?.[0]).toMatchObject({
      metadata: {
        name: 'one-node-1',
        namespace: 'default',
        uid: expect.stringMatching(/^\/manifests\/a\.yaml#/),
        annotations: {
          'kubernetes.io/config.source': 'file',
          'kubernetes.io/config.seen': '2026-01-01T00:00:00.000Z',
          'kubernetes.io/config.hash': expect.stringMatching(/^\/manifests\/a\.yaml#/),
        },
      },
      spec: {
        nodeName: 'node-1',
        restartPolicy: 'Always',
        tolerations: [{ operator: 'Exists', effect: 'NoExecute' }],
      },
      status: { phase: 'Pending' },
    });
    await rig.stop();
  });

  test('added, changed and removed files, with and without events', async () => {
    const rig = await start();
    rig.files.put('a', manifest('one'));
    await rig.change();
    expect(rig.names()).toEqual(['one']);
    rig.files.put('a', manifest('one', ', labels: {x: z}'));
    await rig.clock.advance(fileCheckMs);
    expect(rig.sets).toHaveLength(3);
    expect(rig.sets[2]?.[0]?.metadata?.uid).not.toBe(rig.sets[1]?.[0]?.metadata?.uid);
    rig.files.remove('a');
    await rig.change();
    expect(rig.names()).toEqual([]);
    expect(rig.lines).toEqual([]);
    await rig.stop();
  });

  test('nothing if nothing changed, without reading again', async () => {
    const rig = await start((files) => files.put('a', manifest('one')));
    for (let round = 0; round < 5; round++) await rig.change();
    await rig.clock.advance(5 * fileCheckMs);
    expect(rig.sets).toHaveLength(1);
    expect(rig.files.reads).toEqual(['a']);
    await rig.stop();
  });

  test('nothing if a file was touched but not changed', async () => {
    const rig = await start((files) => files.put('a', manifest('one')));
    rig.files.put('a', `# a comment\n${manifest('one')}`);
    await rig.change();
    expect(rig.files.reads).toEqual(['a', 'a']);
    expect(rig.sets).toHaveLength(1);
    await rig.stop();
  });

  test('the same first-seen time for an edited pod with its own UID', async () => {
    const rig = await start((files) => files.put('a', manifest('one', ', uid: mine')));
    rig.files.put('a', manifest('one', ', uid: mine, labels: {x: z}'));
    await rig.clock.advance(fileCheckMs);
    const [before, after] = rig.sets.map((set) => set[0]?.metadata);
    expect(after?.labels).toEqual({ x: 'z' });
    expect(after?.uid).toBe('mine');
    expect(after?.annotations?.['kubernetes.io/config.seen']).toBe(
      before?.annotations?.['kubernetes.io/config.seen'],
    );
    await rig.stop();
  });

  test('each of many new manifests as soon as it was read', async () => {
    const rig = await start();
    for (let index = 0; index < 50; index++) rig.files.put(`f${index}`, manifest(`p${index}`));
    await rig.change();
    expect(rig.sets.map((set) => set.length)).toEqual(Array.from({ length: 51 }, (_, index) => index));
    await rig.stop();
  });
});

describe('one bad file: one log line, and no effect on other pods', () => {
  const bad: readonly (readonly [string, (files: FakeFiles) => void, string])[] = [
    [
      'garbage',
      (files) => files.put('bad', 'a: ['),
      'E Failed to process manifest file /manifests/bad: line 1, column',
    ],
    [
      'an empty file',
      (files) => files.put('bad', ''),
      'E Failed to process manifest file /manifests/bad: the file is empty',
    ],
    [
      'another kind',
      (files) => files.put('bad', 'apiVersion: v1\nkind: Secret'),
      'E Failed to process manifest file /manifests/bad: line 1: kind "Secret" (v1) is not supported here',
    ],
    [
      'an invalid name',
      (files) => files.put('bad', manifest('No_Good')),
      'E Failed to process manifest file /manifests/bad: pod default/No_Good is invalid: metadata.name: Invalid value: "No_Good-node-1": ',
    ],
    [
      'a huge file',
      (files) =>
        files.put('bad', '', {
          failure: new KubeletError('invalid', 'TooLarge', 'it is larger than 10485760 bytes'),
        }),
      'E Failed to process manifest file /manifests/bad: it is larger than 10485760 bytes',
    ],
    [
      'a file without read permission',
      (files) =>
        files.put('bad', '', {
          failure: new KubeletError('forbidden', 'ManifestUnreadable', 'permission denied'),
        }),
      'E Failed to process manifest file /manifests/bad: permission denied',
    ],
    [
      'an entry that cannot be inspected',
      (files) => files.put('bad', '', { kind: 'unreadable' }),
      'E Failed to process manifest file /manifests/bad: permission denied',
    ],
    [
      'the name of a pod in another file',
      (files) => files.put('later', manifest('good')),
      'E Failed to process manifest file /manifests/later: pod default/good-node-1 is already defined in /manifests/good',
    ],
    [
      'the UID of a pod in another file',
      (files) => {
        files.put('good', manifest('good', ', uid: u'));
        files.put('later', manifest('bad', ', uid: u'));
      },
      'E Failed to process manifest file /manifests/later: pod default/bad-node-1 is already defined in /manifests/good',
    ],
    [
      'a duplicate name in one file',
      (files) => {
        files.put('good', `${manifest('good')}---\n${manifest('good', ', labels: {a: b}')}`);
      },
      'E Failed to process manifest file /manifests/good: pod default/good-node-1 is already defined above',
    ],
    [
      'a directory',
      (files) => files.put('bad', '', { kind: 'directory' }),
      'W Ignored entry of manifest directory /manifests/bad: it is a directory',
    ],
    [
      'a pipe',
      (files) => files.put('bad', '', { kind: 'other' }),
      'W Ignored entry of manifest directory /manifests/bad: it is not a regular file',
    ],
    [
      'a dangling link',
      (files) => files.put('bad', '', { kind: 'missing' }),
      'E Failed to process manifest file /manifests/bad: it is a dangling link',
    ],
    [
      'a pod that refers to API objects',
      (files) =>
        files.put(
          'bad',
          'apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {serviceAccountName: a, containers: [{name: c, image: i}]}',
        ),
      'E Failed to process manifest file /manifests/bad: pod default/x is invalid: static pods may not reference serviceaccounts',
    ],
    [
      'an unknown field',
      (files) => files.put('good', `${manifest('good')}what: 1\n`),
      'W Ignored unknown fields of manifest /manifests/good: what (line 5)',
    ],
  ];
  for (const [name, prepare, line] of bad)
    test(name, async () => {
      const rig = await start((files) => {
        files.put('good', manifest('good'));
        prepare(files);
      });
      expect(rig.names()).toEqual(['good']);
      expect(rig.lines).toHaveLength(1);
      expect(rig.lines[0]).toContain(line);
      for (let round = 0; round < 5; round++) await rig.change();
      await rig.clock.advance(5 * fileCheckMs);
      expect(rig.lines).toHaveLength(1);
      await rig.stop();
    });

  test('logs each new reason and the resolution once', async () => {
    const rig = await start((files) => files.put('a', ''));
    rig.files.put('a', 'kind: Pod');
    await rig.change();
    rig.files.put('a', manifest('one'));
    await rig.change();
    await rig.clock.advance(fileCheckMs);
    expect(rig.lines).toEqual([
      'E Failed to process manifest file /manifests/a: the file is empty',
      'E Failed to process manifest file /manifests/a: line 1: apiVersion is missing',
      'I Manifest problem was resolved /manifests/a',
    ]);
    expect(rig.names()).toEqual(['one']);
    await rig.stop();
  });

  test('logs the same fault again after the file was absent', async () => {
    const rig = await start((files) => files.put('a', ''));
    rig.files.remove('a');
    await rig.change();
    rig.files.put('a', '');
    await rig.change();
    expect(rig.lines).toHaveLength(2);
    await rig.stop();
  });

  test('uses a good document beside a bad one in the same file', async () => {
    const rig = await start((files) =>
      files.put('a', `apiVersion: v1\nkind: Service\n---\n${manifest('one')}`),
    );
    expect(rig.names()).toEqual(['one']);
    expect(rig.lines).toHaveLength(1);
    await rig.stop();
  });

  test('uses the second of two files with one name when the first is removed', async () => {
    const rig = await start((files) => {
      files.put('a', manifest('one', ', labels: {from: a}'));
      files.put('b', manifest('one', ', labels: {from: b}'));
    });
    expect(rig.sets[0]?.map((pod) => pod.metadata?.labels)).toEqual([{ from: 'a' }]);
    rig.files.remove('a');
    await rig.change();
    expect(rig.sets[1]?.map((pod) => pod.metadata?.labels)).toEqual([{ from: 'b' }]);
    await rig.stop();
  });
});

describe('a running pod survives', () => {
  const failures: readonly (readonly [string, (files: FakeFiles) => void])[] = [
    ['a broken edit', (files) => files.put('a', 'a: [')],
    ['an emptied file', (files) => files.put('a', '')],
    ['an invalid edit', (files) => files.put('a', manifest('one').replace('image: i', 'image: ""'))],
    [
      'an edit of the wrong type',
      (files) => files.put('a', manifest('one').replace('[{', '{').replace('}]', '}')),
    ],
    [
      'lost read permission',
      (files) =>
        files.put('a', '', {
          failure: new KubeletError('forbidden', 'ManifestUnreadable', 'permission denied'),
        }),
    ],
    ['a failed stat', (files) => files.put('a', '', { kind: 'unreadable' })],
  ];
  for (const [name, spoil] of failures)
    test(`${name}, and follows the next good version`, async () => {
      const rig = await start((files) => files.put('a', manifest('one')));
      spoil(rig.files);
      await rig.change();
      expect(rig.sets).toHaveLength(1);
      expect(rig.lines).toHaveLength(1);
      expect(rig.lines[0]).toMatch(/ \(keeping default\/one-node-1\)$/);
      rig.files.put('a', manifest('one', ', labels: {x: z}'));
      await rig.change();
      expect(rig.sets).toHaveLength(2);
      expect(rig.sets[1]?.[0]?.metadata?.labels).toEqual({ x: 'z' });
      await rig.stop();
    });

  test('the edit but not the removal of a broken file', async () => {
    const rig = await start((files) => files.put('a', manifest('one')));
    rig.files.put('a', 'a: [');
    await rig.change();
    rig.files.remove('a');
    await rig.change();
    expect(rig.names()).toEqual([]);
    await rig.stop();
  });

  test('a broken document, but not the removal of its own document beside it', async () => {
    const rig = await start((files) => files.put('a', `${manifest('one')}---\n${manifest('two')}`));
    rig.files.put('a', manifest('one').replace('image: i', 'image: ""'));
    await rig.change();
    expect(rig.names()).toEqual(['one']);
    await rig.stop();
  });

  test('a broken file, but not its replacement by another kind', async () => {
    const rig = await start((files) => files.put('a', manifest('one')));
    rig.files.put('a', 'apiVersion: v1\nkind: Secret');
    await rig.change();
    expect(rig.names()).toEqual([]);
    await rig.stop();
  });

  test('a directory that cannot be listed', async () => {
    const rig = await start((files) => files.put('a', manifest('one')));
    rig.files.listing = new KubeletError('forbidden', 'ManifestUnreadable', 'permission denied');
    await rig.change();
    await rig.clock.advance(3 * fileCheckMs);
    expect(rig.sets).toHaveLength(1);
    expect(rig.lines).toEqual(['E Failed to read manifest path /manifests: permission denied']);
    rig.files.listing = 'directory';
    rig.files.put('b', manifest('two'));
    await rig.change();
    expect(rig.names()).toEqual(['one', 'two']);
    await rig.stop();
  });
});

describe('an incomplete file', () => {
  test('is used at once if it is valid', async () => {
    const rig = await start();
    rig.files.put('a', manifest('one'), { fresh: true });
    await rig.change();
    expect(rig.names()).toEqual(['one']);
    await rig.stop();
  });

  test('has its faults reported only if they persist', async () => {
    const rig = await start();
    rig.files.put('a', 'apiVersion: v1\nkind: P', { fresh: true });
    await rig.change();
    expect(rig.lines).toEqual([]);
    rig.files.put('a', manifest('one'), { fresh: true });
    await rig.clock.advance(settleMs);
    expect(rig.names()).toEqual(['one']);
    expect(rig.lines).toEqual([]);
    rig.files.put('a', 'kind: P', { fresh: true });
    await rig.change();
    expect(rig.lines).toEqual([]);
    await rig.clock.advance(settleMs);
    expect(rig.lines).toHaveLength(1);
    await rig.stop();
  });

  test('loses no pod until it has settled', async () => {
    const both = `${manifest('one')}---\n${manifest('two')}`;
    const rig = await start((files) => files.put('a', both));
    rig.files.put('a', manifest('one'), { fresh: true });
    await rig.change();
    expect(rig.names()).toEqual(['one', 'two']);
    await rig.clock.advance(settleMs);
    expect(rig.names()).toEqual(['one']);
    await rig.stop();
  });

  test('is read again after a change within the same tick, but parsed only when it differs', async () => {
    const rig = await start();
    rig.files.put('a', manifest('one'), { fresh: true });
    await rig.change();
    await rig.change();
    expect(rig.files.reads).toEqual(['a', 'a']);
    expect(rig.sets).toHaveLength(2);
    await rig.clock.advance(fileCheckMs);
    await rig.change();
    expect(rig.files.reads).toEqual(['a', 'a', 'a']);
    await rig.stop();
  });
});

describe('the path', () => {
  test('that does not exist is an empty set and logged once; its pods follow when it is created', async () => {
    const rig = await start((files) => {
      files.listing = 'missing';
      files.put('a', manifest('one'));
    });
    expect(rig.sets).toEqual([[]]);
    await rig.clock.advance(3 * fileCheckMs);
    expect(rig.lines).toEqual(['E Failed to read manifest path /manifests: it does not exist, ignoring it']);
    rig.files.listing = 'directory';
    await rig.change();
    expect(rig.names()).toEqual(['one']);
    await rig.stop();
  });

  test('that is removed removes its pods', async () => {
    const rig = await start((files) => files.put('a', manifest('one')));
    rig.files.listing = 'missing';
    await rig.change();
    expect(rig.names()).toEqual([]);
    rig.files.listing = 'directory';
    await rig.change();
    expect(rig.names()).toEqual(['one']);
    await rig.stop();
  });

  for (const [name, listing] of [
    ['that cannot be listed', new KubeletError('forbidden', 'ManifestUnreadable', 'permission denied')],
    ['that is a device', 'other'],
  ] as const)
    test(`${name} publishes no set`, async () => {
      const rig = await start((files) => {
        files.listing = listing;
      });
      await rig.clock.advance(2 * fileCheckMs);
      expect(rig.sets).toEqual([]);
      expect(rig.lines).toHaveLength(1);
      await rig.stop();
    });

  test('that cannot be watched is logged once and rescanned', async () => {
    const rig = await start();
    for (let round = 0; round < 3; round++)
      for (const watcher of rig.files.watchers) watcher.onError(new Error('no more watches'));
    rig.files.put('a', manifest('one'));
    await rig.clock.advance(fileCheckMs);
    expect(rig.names()).toEqual(['one']);
    expect(rig.lines).toEqual([
      'E Failed to watch manifest path, relying on rescans /manifests: no more watches',
    ]);
    await rig.stop();
  });

  test('that is slow to list is logged once, and start waits for it', async () => {
    let release = (): void => undefined;
    const rig = await start((files) => {
      files.put('a', manifest('one'));
      files.stalled = new Promise((resolve) => {
        release = resolve;
      });
    });
    await rig.clock.advance(5 * 60_000);
    expect(rig.lines).toEqual(['W Manifest scan is taking long /manifests']);
    expect(rig.sets).toEqual([]);
    release();
    await rig.clock.settle();
    expect(rig.names()).toEqual(['one']);
    await rig.stop();
  });
});

describe('a manifest that decodes slowly', () => {
  /** Work that ends under the control of the test, in order of its start. */
  function held(): { slow: (bytes: Uint8Array) => SlowWork | undefined; work: HeldWork[] } {
    const work: HeldWork[] = [];
    const slow: SlowWork = (make, signal) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
        work.push({ finish: () => resolve(make()), fail: reject, signal });
      });
    return { work, slow: (bytes) => (Buffer.from(bytes).includes('# slow') ? slow : undefined) };
  }
  interface HeldWork {
    readonly finish: () => void;
    readonly fail: (err: KubeletError) => void;
    readonly signal: AbortSignal;
  }
  const slowly = (name: string): string => `# slow\n${manifest(name)}`;
  const tooSlow = new KubeletError('timeout', 'ManifestTooSlow', 'takes too long to read: over 20 s');

  test('delays the first set, which must be complete', async () => {
    const { slow, work } = held();
    const rig = await start((files) => {
      files.put('a', slowly('big'));
      files.put('b', manifest('small'));
    }, slow);
    await rig.clock.settle();
    expect(rig.sets).toEqual([]);
    work[0]?.finish();
    await rig.clock.settle();
    expect(rig.names()).toEqual(['big', 'small']);
    expect(rig.sets).toHaveLength(1);
    expect(work).toHaveLength(1);
    await rig.stop();
  });

  test('delays neither other manifests nor its own last version', async () => {
    const { slow, work } = held();
    const rig = await start((files) => files.put('a', manifest('one')), slow);
    rig.files.put('a', slowly('two'));
    await rig.change();
    rig.files.put('b', manifest('three'));
    await rig.change();
    expect(rig.names()).toEqual(['one', 'three']);
    expect(rig.files.reads).toEqual(['a', 'a', 'b']);
    work[0]?.finish();
    await rig.clock.settle();
    expect(rig.names()).toEqual(['two', 'three']);
    expect(rig.files.reads).toEqual(['a', 'a', 'b']);
    expect(rig.lines).toEqual([]);
    await rig.stop();
  });

  test('is aborted when it changes or is removed', async () => {
    const { slow, work } = held();
    const rig = await start(undefined, slow);
    rig.files.put('a', slowly('one'));
    await rig.change();
    rig.files.put('a', slowly('two'));
    await rig.change();
    expect(work.map(({ signal }) => signal.aborted)).toEqual([true, false]);
    rig.files.remove('a');
    await rig.change();
    expect(work.map(({ signal }) => signal.aborted)).toEqual([true, true]);
    expect(rig.names()).toEqual([]);
    expect(rig.lines).toEqual([]);
    await rig.stop();
  });

  test('and times out is a fault, retried after ten minutes or on a change', async () => {
    const { slow, work } = held();
    const rig = await start((files) => {
      files.put('a', slowly('one'));
      files.put('b', manifest('two'));
    }, slow);
    await rig.clock.settle();
    work[0]?.fail(tooSlow);
    await rig.clock.settle();
    expect(rig.names()).toEqual(['two']);
    const fault = 'E Failed to process manifest file /manifests/a: takes too long to read: over 20 s';
    expect(rig.lines).toEqual([fault]);
    await rig.clock.advance(9 * 60_000);
    expect(work).toHaveLength(1);
    await rig.clock.advance(2 * 60_000);
    expect(work).toHaveLength(2);
    work[1]?.fail(tooSlow);
    await rig.clock.settle();
    expect(rig.lines).toEqual([fault]);
    rig.files.put('a', manifest('one'));
    await rig.change();
    expect(rig.names()).toEqual(['one', 'two']);
    await rig.stop();
  });

  test('and times out keeps its last version', async () => {
    const { slow, work } = held();
    const rig = await start((files) => files.put('a', manifest('one')), slow);
    rig.files.put('a', slowly('two'));
    await rig.change();
    work[0]?.fail(tooSlow);
    await rig.clock.settle();
    expect(rig.names()).toEqual(['one']);
    expect(rig.lines).toEqual([
      'E Failed to process manifest file /manifests/a: takes too long to read: over 20 s (keeping default/one-node-1)',
    ]);
    await rig.stop();
  });

  test('and whose worker crashes is retried in the next scan', async () => {
    const { slow, work } = held();
    const rig = await start((files) => files.put('a', slowly('one')), slow);
    await rig.clock.settle();
    work[0]?.fail(new KubeletError('internal', 'ManifestUnreadable', 'could not be read'));
    await rig.clock.settle();
    expect(rig.lines).toEqual(['E Failed to process manifest file /manifests/a: could not be read']);
    await rig.clock.advance(fileCheckMs);
    work.at(-1)?.finish();
    await rig.clock.settle();
    expect(rig.names()).toEqual(['one']);
    await rig.stop();
  });

  test('is aborted by a stop, and no set without it is published', async () => {
    const { slow, work } = held();
    const rig = await start((files) => files.put('a', slowly('one')), slow);
    await rig.clock.settle();
    await rig.stop();
    expect(work[0]?.signal.aborted).toBe(true);
    expect(rig.sets).toEqual([]);
    expect(rig.clock.pendingTimers()).toBe(0);
  });
});

describe('stopping', () => {
  test('leaves no timer and no watch', async () => {
    const rig = await start((files) => files.put('a', 'bad', { fresh: true }));
    await rig.stop();
    expect(rig.clock.pendingTimers()).toBe(0);
    expect(rig.files.watchers.size).toBe(0);
    rig.files.put('a', manifest('one'));
    rig.files.event();
    await rig.clock.advance(fileCheckMs);
    expect(rig.sets).toEqual([[]]);
  });

  test('before the first scan has ended does not wait for it', async () => {
    const rig = await start((files) => {
      files.stalled = new Promise(() => undefined);
    });
    let stopped = false;
    const stopping = rig.stop().finally(() => {
      stopped = true;
    });
    void stopping;
    await rig.clock.settle();
    expect(rig.files.watchers.size).toBe(0);
    expect(stopped).toBe(false);
  });

  test('and starting again yields the same pods with the same UIDs', async () => {
    const put = (files: FakeFiles): void => {
      files.put('a', manifest('one'));
      files.put('b', manifest('two'));
    };
    const first = await start(put);
    await first.stop();
    const second = await start(put);
    expect(second.sets).toEqual(first.sets);
    await second.stop();
  });
});
