import { describe, expect, test } from 'vitest';
import { anObservedContainer, anObservedPod, exited } from '../../../test/builders/builders.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { asContainerId, asPodUid, type PodUid } from '../../api/pod/pod-ref.ts';
import { Channel } from '../../base/channel.ts';
import { Verbosity } from '../../base/log/log.ts';
import { textLogger } from '../../base/log/log-text.ts';
import { UnfinishedHooks } from './unfinished-hooks.ts';

const uid = asPodUid('uid-p');
const [one, two] = [asContainerId('one'), asContainerId('two')];
const path = (id: string, pod = 'uid-p'): string => `/root/post-start-hooks/${pod}_${id}`;

/** A disk that outlives the kubelet. */
class Disk {
  readonly paths: Set<string>;
  readonly lines: string[] = [];
  failure: Error | undefined;

  constructor(...paths: readonly string[]) {
    this.paths = new Set(paths);
  }

  async open(): Promise<UnfinishedHooks> {
    const hooks = new UnfinishedHooks({
      rootDir: '/root',
      files: {
        listNames: async (directory) =>
          this.#unlessFailing([...this.paths].map((each) => each.slice(directory.length + 1))),
        writeText: async (each) => void this.#unlessFailing(this.paths).add(each),
        removeFile: async (each) => void this.#unlessFailing(this.paths).delete(each),
      },
      log: textLogger({
        write: (line) => void this.lines.push(line),
        clock: new FakeClock(0),
        verbosity: new Verbosity(0),
        pid: 1,
      }),
    });
    await hooks.start(new AbortController().signal);
    return hooks;
  }

  #unlessFailing<T>(value: T): T {
    if (this.failure !== undefined) throw this.failure;
    return value;
  }
}

describe('records', () => {
  test('survive a restart of the kubelet until the hook has succeeded', async () => {
    const disk = new Disk();
    await (await disk.open()).begin(uid, one);
    expect([...disk.paths]).toEqual([path('one')]);
    const next = await disk.open();
    expect([next.has(one), next.has(two), [...next.pods()]]).toEqual([true, false, [uid]]);
    await next.finish(one);
    expect([next.has(one), (await disk.open()).has(one), disk.paths.size]).toEqual([false, false, 0]);
  });

  test('are removed from the disk before the end of the hook is announced', async () => {
    const disk = new Disk();
    const hooks = await disk.open();
    const announced: unknown[] = [];
    hooks.changed.subscribe((each) => void announced.push([each, hooks.has(one), disk.paths.size]));
    await hooks.begin(uid, one);
    await hooks.finish(one);
    await hooks.finish(one);
    expect(announced).toEqual([[uid, false, 0]]);
  });

  test('a record that cannot be written prevents the start', async () => {
    const disk = new Disk();
    const hooks = await disk.open();
    disk.failure = new Error('no space');
    await expect(hooks.begin(uid, one)).rejects.toThrow('no space');
    expect(hooks.has(one)).toBe(false);
  });

  test('a record that cannot be removed does not block the container; the hook may run again', async () => {
    const disk = new Disk();
    const hooks = await disk.open();
    await hooks.begin(uid, one);
    disk.failure = new Error('read-only');
    await hooks.finish(one);
    expect([hooks.has(one), disk.lines.filter((line) => line.startsWith('E')).length]).toEqual([false, 1]);
  });

  test('logs an unreadable directory and starts', async () => {
    const disk = new Disk(path('one'));
    disk.failure = new Error('I/O error');
    const hooks = await disk.open();
    expect([hooks.has(one), disk.lines.length]).toEqual([false, 1]);
  });

  test('are removed when their container exits or their pod is removed; other files stay', async () => {
    const disk = new Disk(path('one'), path('two'), path('three', 'uid-q'), '/root/post-start-hooks/README');
    const hooks = await disk.open();
    const containers = [exited(1, { id: one }), anObservedContainer({ id: two })];
    await hooks.forgetEnded(anObservedPod({ containers }));
    expect([hooks.has(one), hooks.has(two)]).toEqual([false, true]);
    await hooks.forgetPod(uid);
    expect([...disk.paths]).toEqual([path('three', 'uid-q'), '/root/post-start-hooks/README']);
  });

  test('rejects a container ID that escapes the directory', async () => {
    const hooks = await new Disk().open();
    await expect(hooks.begin(uid, asContainerId('../../etc/passwd'))).rejects.toThrow(
      'cannot be used as a directory name',
    );
  });
});

describe('the reported view', () => {
  const seen = anObservedPod({ containers: [anObservedContainer({ id: one }), exited(1, { id: two })] });
  const store = { get: (): typeof seen => seen, changed: new Channel<PodUid>() };

  test('shows a running container with a record as created, and everything else as observed', async () => {
    const hooks = await new Disk().open();
    const view = hooks.reported(store);
    expect(view.get(uid)).toBe(seen);
    await hooks.begin(uid, one);
    await hooks.begin(uid, two);
    expect(view.get(uid)?.containers.map(({ state }) => state)).toEqual(['created', 'exited']);
    await hooks.finish(one);
    expect(view.get(uid)?.containers[0]).toBe(seen.containers[0]);
  });

  test('announces changes of the store and the end of a hook', async () => {
    const hooks = await new Disk().open();
    const announced: PodUid[] = [];
    const unsubscribe = hooks.reported(store).changed.subscribe((each) => void announced.push(each));
    store.changed.push(uid);
    await hooks.begin(uid, one);
    await hooks.finish(one);
    expect(announced).toEqual([uid, uid]);
    unsubscribe();
    store.changed.push(uid);
    expect(announced).toHaveLength(2);
  });
});
