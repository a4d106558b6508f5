import { expect, onTestFinished, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { asPodUid } from '../api/pod/pod-ref.ts';
import { Channel } from '../base/channel.ts';
import { startComponent } from '../base/component.ts';
import { silentLogger } from '../base/log/log.ts';
import { Housekeeping } from './housekeeping.ts';

const everyMs = 30_000;
const found = (uid: string, isPodDirectory = true, name = '') => ({
  uid: asPodUid(uid),
  namespace: name === '' ? '' : 'default',
  name,
  isPodDirectory,
});

/** A started Housekeeping on a node with nothing on its disk. */
class Scene {
  readonly clock = new FakeClock();
  onDisk: readonly ReturnType<typeof found>[] = [];
  readonly desired = new Set<string>();
  /** Names of the pods that workers are removing, by UID. */
  readonly removing = new Map<string, string>();
  runtimeAnswers = true;
  readonly reports: string[] = [];
  readonly ready = new Channel<void>();
  readonly answered = new Channel<void>();
  readonly #workers = new Set<string>();

  async start(): Promise<this> {
    const none = { get: () => undefined };
    const housekeeping = new Housekeeping({
      views: {
        desired: {
          sourcesReady: () => true,
          get: (uid) => (this.desired.has(uid) ? {} : undefined),
          ready: this.ready,
        },
        observed: none,
        lifecycles: none,
        pleg: {
          health: () => ({ failure: this.runtimeAnswers ? undefined : 'timeout' }),
          isInspected: () => this.runtimeAnswers,
          answered: this.answered,
        },
        workers: { knows: (uid) => this.#workers.has(uid) },
      },
      workers: {
        removeLeftover: ({ uid, name }) => {
          this.removing.set(uid, name);
          queueMicrotask(() => this.#workers.add(uid));
        },
        isRemovingLeftover: (uid) => this.removing.has(uid),
      },
      disk: { leftovers: async () => this.onDisk },
      metrics: {
        clearedDirectories: (all, failed) => void this.reports.push(`${all} found, ${failed} failed`),
      },
      clock: this.clock,
      log: silentLogger,
      everyMs,
    });
    const stop = new AbortController();
    const { stopped } = await startComponent(housekeeping, stop.signal);
    onTestFinished(async () => {
      stop.abort();
      await stopped;
      expect(this.clock.pendingTimers()).toBe(0);
    });
    await this.clock.advance(0);
    return this;
  }

  finishRemoval(uid: string): void {
    this.removing.delete(uid);
    this.#workers.delete(uid);
  }
}

test('hands each orphaned pod to its worker, with the name from its log directory', async () => {
  const scene = new Scene();
  scene.onDisk = [found('gone'), found('wanted'), found('gone', false, 'web')];
  scene.desired.add('wanted');
  await scene.start();
  expect([...scene.removing]).toEqual([['gone', 'web']]);
});

test('sweeps again as soon as the runtime answers', async () => {
  const scene = new Scene();
  scene.runtimeAnswers = false;
  scene.onDisk = [found('gone')];
  await scene.start();
  expect(scene.removing.size).toBe(0);
  scene.runtimeAnswers = true;
  scene.answered.push();
  await scene.clock.advance(0);
  expect([...scene.removing.keys()]).toEqual(['gone']);
});

test('sweeps every period for orphans that appear later', async () => {
  const scene = await new Scene().start();
  scene.onDisk = [found('gone')];
  await scene.clock.advance(everyMs);
  expect([...scene.removing.keys()]).toEqual(['gone']);
});

test('reports directories cleared since the last sweep, and those that still exist as failed', async () => {
  const scene = new Scene();
  scene.onDisk = [found('a'), found('b'), found('cgroup-only', false)];
  await scene.start();
  scene.reports.length = 0;
  scene.finishRemoval('a');
  scene.finishRemoval('cgroup-only');
  scene.onDisk = [found('b')];
  await scene.clock.advance(everyMs);
  scene.finishRemoval('b');
  scene.onDisk = [];
  await scene.clock.advance(2 * everyMs);
  expect(scene.reports).toEqual(['2 found, 1 failed', '1 found, 0 failed', '0 found, 0 failed']);
});
