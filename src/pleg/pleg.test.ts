import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FakeCri } from '../../test/fake-cri/fake-cri.ts';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { asPodUid } from '../api/pod/pod-ref.ts';
import { Aborted, KubeletError } from '../base/errors.ts';
import { silentLogger } from '../base/log/log.ts';
import { ObservedPods } from './observed-pods.ts';
import { Pleg } from './pleg.ts';

describe('Pleg', () => {
  let clock: FakeClock;
  let cri: FakeCri;
  let observed: ObservedPods;
  let pleg: Pleg;
  let heard: string[];
  let warned: string[];
  let stop: AbortController;
  let stopped: Promise<void> | undefined;
  let atWork: Set<string>;

  const a = asPodUid('a');
  const unknown = new KubeletError('internal', 'UNKNOWN', 'no');

  beforeEach(() => {
    clock = new FakeClock();
    cri = new FakeCri({ clock });
    observed = new ObservedPods();
    heard = [];
    atWork = new Set();
    warned = [];
    stop = new AbortController();
    stopped = undefined;
    const note = (message: string): void => void warned.push(message);
    pleg = new Pleg({
      runtime: cri,
      observed,
      clock,
      log: { ...silentLogger, error: note, info: note, warn: note },
      settings: { relistMs: 1_000, callTimeoutMs: 5_000 },
      isAtWork: (uid) => atWork.has(uid),
    });
    observed.changed.subscribe((uid) => heard.push(uid));
    pleg.answered.subscribe(() => heard.push('answered'));
  });
  afterEach(async () => {
    stop.abort(new Aborted('test is over'));
    if (stopped !== undefined) await clock.until(stopped);
    cri.close();
    expect(clock.pendingTimers()).toBe(0);
  });

  async function start(): Promise<void> {
    ({ stopped } = await pleg.start(stop.signal));
    await clock.advance(0);
  }

  async function sandbox(
    uid: string,
    labels: Record<string, string> = { 'io.kubernetes.pod.uid': uid },
  ): Promise<string> {
    const metadata = { name: uid, namespace: 'ns', uid, attempt: 0 };
    const { podSandboxId } = await cri.runPodSandbox({ config: { metadata, labels, linux: {} } });
    return podSandboxId;
  }

  describe('the first relist', () => {
    test('nothing is seen before the runtime has answered', async () => {
      cri.faults.goDown();
      await start();
      expect(pleg.isSeen(a)).toBe(false);
      expect(pleg.health()).toMatchObject({ everAnswered: false, failingSinceMs: 0 });
      cri.faults.comeUp();
      await clock.advance(1_000);
      expect([pleg.isSeen(a), heard]).toEqual([true, ['answered']]);
    });

    test('a pod it lists is seen once it was inspected; one it does not list is seen at once', async () => {
      await sandbox('a');
      const stall = cri.faults.stall('podSandboxStatus');
      await start();
      expect([pleg.isSeen(a), pleg.isSeen(asPodUid('other'))]).toEqual([false, true]);
      stall.release();
      await clock.advance(0);
      expect(pleg.isSeen(a)).toBe(true);
      expect(heard).toEqual(['answered', 'a']);
      expect(observed.get(a)).toMatchObject({ name: 'a', namespace: 'ns', sandboxes: [{ ready: true }] });
    });

    test('a pod that is gone before it was inspected is news, for somebody waits for that look', async () => {
      const id = await sandbox('a');
      cri.faults.fail('listPodSandbox', unknown, { match: ({ filter }) => filter !== undefined });
      await start();
      expect(pleg.isSeen(a)).toBe(false);
      await cri.removePodSandbox({ podSandboxId: id });
      await clock.advance(1_000);
      expect([pleg.isSeen(a), observed.get(a), heard]).toEqual([true, undefined, ['answered', 'a']]);
    });

    test('a sandbox without our labels is left alone', async () => {
      await sandbox('a', {});
      await start();
      await clock.advance(10_000);
      expect([observed.all().size, heard]).toEqual([0, ['answered']]);
    });
  });

  describe('relists', () => {
    test('a new pod that somebody is starting is left to him, but not for long', async () => {
      await start();
      atWork.add('a');
      await sandbox('a');
      await clock.advance(1_000);
      expect(observed.get(a)).toBeUndefined();
      await clock.advance(1_000);
      expect(observed.get(a)?.sandboxes).toHaveLength(1);
    });
    test('hints about it are left to him, too; about one that is known they are followed', async () => {
      await start();
      atWork.add('a');
      const id = await sandbox('a');
      pleg.poke(a);
      await clock.advance(0);
      expect(observed.get(a)).toBeUndefined();
      await pleg.refresh(a, stop.signal);
      await cri.stopPodSandbox({ podSandboxId: id });
      pleg.poke(a);
      await clock.advance(0);
      expect(observed.get(a)?.sandboxes[0]?.ready).toBe(false);
    });
    test('one that is known is looked at, whoever is at work on it', async () => {
      await start();
      const id = await sandbox('a');
      await pleg.refresh(a, stop.signal);
      atWork.add('a');
      await cri.stopPodSandbox({ podSandboxId: id });
      await clock.advance(1_000);
      expect(observed.get(a)?.sandboxes[0]?.ready).toBe(false);
    });
    test('what was there before this life is looked at, also by who works on it', async () => {
      atWork.add('a');
      await sandbox('a');
      await start();
      expect(observed.get(a)?.sandboxes).toHaveLength(1);
    });
    test('what comes, changes and goes is announced once each', async () => {
      await start();
      heard.splice(0);
      const id = await sandbox('a');
      await clock.advance(3_000);
      expect(heard.splice(0)).toEqual(['a']);
      cri.killSandbox(id);
      await clock.advance(3_000);
      expect(heard.splice(0)).toEqual(['a']);
      await cri.removePodSandbox({ podSandboxId: id });
      await clock.advance(3_000);
      expect([heard, observed.all().size]).toEqual([['a'], 0]);
    });

    test('a runtime that goes and comes back is told once each way', async () => {
      await sandbox('a');
      await start();
      heard.splice(0);
      warned.splice(0);
      cri.faults.restart({ downMs: 10_500 });
      await clock.advance(9_000);
      expect(pleg.health().failure).toBeDefined();
      expect(pleg.isSeen(a)).toBe(true);
      await clock.advance(5_000);
      expect(pleg.health()).toMatchObject({ failure: undefined, failingSinceMs: undefined });
      expect(heard).toEqual(['answered']);
      expect(warned).toEqual([
        'Container runtime does not answer; running containers are left alone until it does',
        'Container runtime answers again',
      ]);
    });

    test('one that hangs is given up after its time', async () => {
      await start();
      cri.faults.stall('listContainers');
      await clock.advance(6_500);
      expect(pleg.health().failure).toContain('listing the runtime did not finish within 5000 ms');
      await clock.advance(1_000);
      expect(pleg.health().failure).toBeUndefined();
    });

    test('an abort that is not ours is a failure like any other', async () => {
      await start();
      const foreign = Object.assign(new Error('gone'), { name: 'AbortError' }) as unknown as KubeletError;
      cri.faults.fail('listContainers', foreign);
      await clock.advance(1_000);
      expect(pleg.health().failure).toBe('gone');
    });

    test('asked for while one is under way, the next follows at once', async () => {
      await start();
      cri.faults.latency('listContainers', 400);
      await clock.advance(1_100);
      const id = await sandbox('late');
      pleg.pokeRelist();
      cri.faults.latency('listContainers', 0);
      await clock.advance(310);
      expect(observed.get(asPodUid('late'))?.sandboxes[0]?.id).toBe(id);
    });

    test('asked for in between, it does not wait for its time', async () => {
      await start();
      await clock.advance(100);
      await sandbox('a');
      pleg.pokeRelist();
      await clock.advance(0);
      expect(observed.get(a)).toBeDefined();
    });
  });

  describe('inspections', () => {
    test('a poke is a look', async () => {
      await start();
      await sandbox('a');
      pleg.poke(a);
      await clock.advance(0);
      expect(heard).toEqual(['answered', 'a']);
    });

    test('an earlier look that answers later does not overwrite a later one', async () => {
      const id = await sandbox('a');
      const stall = cri.faults.stall('podSandboxStatus', { when: 'after' });
      const early = pleg.refresh(a, stop.signal);
      await clock.advance(0);
      cri.killSandbox(id);
      const late = await pleg.refresh(a, stop.signal);
      expect(late?.sandboxes[0]?.ready).toBe(false);
      stall.release();
      expect((await early)?.sandboxes[0]?.ready).toBe(false);
      expect(observed.get(a)?.sandboxes[0]?.ready).toBe(false);
    });

    test('one that fails is tried again, and told', async () => {
      cri.faults.fail('podSandboxStatus', unknown);
      await start();
      await sandbox('a');
      pleg.poke(a);
      await clock.advance(0);
      expect([warned.at(-1), observed.get(a)]).toEqual([
        'Pod could not be inspected, will try again',
        undefined,
      ]);
      await clock.advance(500);
      expect(observed.get(a)).toBeDefined();
    });
  });
});
