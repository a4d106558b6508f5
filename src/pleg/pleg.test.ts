import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FakeCri } from '../../test/fake-cri/fake-cri.ts';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { asPodUid } from '../api/pod/pod-ref.ts';
import { Channel } from '../base/channel.ts';
import { Aborted, KubeletError } from '../base/errors.ts';
import { silentLogger } from '../base/log/log.ts';
import { ObservedPods } from './observed-pods.ts';
import { Pleg } from './pleg.ts';

describe('Pleg', () => {
  let clock: FakeClock;
  let cri: FakeCri;
  let observed: ObservedPods;
  let pleg: Pleg;
  let announced: string[];
  let logged: string[];
  let stop: AbortController;
  let stopped: Promise<void> | undefined;
  let syncing: Set<string>;

  const a = asPodUid('a');
  const unknown = new KubeletError('internal', 'UNKNOWN', 'no');

  beforeEach(() => {
    clock = new FakeClock();
    cri = new FakeCri({ clock });
    observed = new ObservedPods();
    announced = [];
    syncing = new Set();
    logged = [];
    stop = new AbortController();
    stopped = undefined;
    const note = (message: string): void => void logged.push(message);
    pleg = new Pleg({
      runtime: cri,
      stores: { observed, inSync: syncing },
      clock,
      log: { ...silentLogger, error: note, info: note, warn: note },
      settings: { relistMs: 1_000, callTimeoutMs: 5_000 },
      connectionChanged: new Channel(),
    });
    observed.changed.subscribe((uid) => announced.push(uid));
    pleg.answered.subscribe(() => announced.push('answered'));
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
    test('counts no pod as inspected before the runtime has answered', async () => {
      cri.faults.goDown();
      await start();
      expect(pleg.isInspected(a)).toBe(false);
      expect(pleg.health()).toMatchObject({ everAnswered: false, failingSinceMs: 0 });
      cri.faults.comeUp();
      await clock.advance(1_000);
      expect([pleg.isInspected(a), announced]).toEqual([true, ['answered']]);
    });

    test('counts a listed pod as inspected after its inspection, an unlisted one at once', async () => {
      await sandbox('a');
      const stall = cri.faults.stall('podSandboxStatus');
      await start();
      expect([pleg.isInspected(a), pleg.isInspected(asPodUid('other'))]).toEqual([false, true]);
      stall.release();
      await clock.advance(0);
      expect(pleg.isInspected(a)).toBe(true);
      expect(announced).toEqual(['answered', 'a']);
      expect(observed.get(a)).toMatchObject({ name: 'a', namespace: 'ns', sandboxes: [{ ready: true }] });
    });

    test('announces a pod that was removed before its first inspection', async () => {
      const id = await sandbox('a');
      cri.faults.fail('listPodSandbox', unknown, { match: ({ filter }) => filter !== undefined });
      await start();
      expect(pleg.isInspected(a)).toBe(false);
      await cri.removePodSandbox({ podSandboxId: id });
      await clock.advance(1_000);
      expect([pleg.isInspected(a), observed.get(a), announced]).toEqual([true, undefined, ['answered', 'a']]);
    });

    test('ignores a sandbox without kubelet labels', async () => {
      await sandbox('a', {});
      await start();
      await clock.advance(10_000);
      expect([observed.all().size, announced]).toEqual([0, ['answered']]);
    });
  });

  describe('relists', () => {
    test('leaves a new pod to the worker that starts it for one relist', async () => {
      await start();
      syncing.add('a');
      await sandbox('a');
      await clock.advance(1_000);
      expect(observed.get(a)).toBeUndefined();
      await clock.advance(1_000);
      expect(observed.get(a)?.sandboxes).toHaveLength(1);
    });
    test('ignores hints about a pod that its worker starts, and follows those about an observed one', async () => {
      await start();
      syncing.add('a');
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
    test('inspects an observed pod although its worker is running', async () => {
      await start();
      const id = await sandbox('a');
      await pleg.refresh(a, stop.signal);
      syncing.add('a');
      await cri.stopPodSandbox({ podSandboxId: id });
      await clock.advance(1_000);
      expect(observed.get(a)?.sandboxes[0]?.ready).toBe(false);
    });
    test('inspects a pod of a previous kubelet although its worker is running', async () => {
      syncing.add('a');
      await sandbox('a');
      await start();
      expect(observed.get(a)?.sandboxes).toHaveLength(1);
    });
    test('announces an added, changed and removed pod once each', async () => {
      await start();
      announced.splice(0);
      const id = await sandbox('a');
      await clock.advance(3_000);
      expect(announced.splice(0)).toEqual(['a']);
      cri.killSandbox(id);
      await clock.advance(3_000);
      expect(announced.splice(0)).toEqual(['a']);
      await cri.removePodSandbox({ podSandboxId: id });
      await clock.advance(3_000);
      expect([announced, observed.all().size]).toEqual([['a'], 0]);
    });

    test('logs once that the runtime is unavailable and once that it is back', async () => {
      await sandbox('a');
      await start();
      announced.splice(0);
      logged.splice(0);
      cri.faults.restart({ downMs: 10_500 });
      await clock.advance(9_000);
      expect(pleg.health().failure).toBeDefined();
      expect(pleg.isInspected(a)).toBe(true);
      await clock.advance(5_000);
      expect(pleg.health()).toMatchObject({ failure: undefined, failingSinceMs: undefined });
      expect(announced).toEqual(['answered']);
      expect(logged).toEqual([
        'Container runtime is unavailable; running containers are left alone until it recovers',
        'Container runtime is available again',
      ]);
    });

    test('gives up a relist that hangs after its deadline', async () => {
      await start();
      cri.faults.stall('listContainers');
      await clock.advance(6_500);
      expect(pleg.health().failure).toContain('listing the runtime did not finish within 5000 ms');
      await clock.advance(1_000);
      expect(pleg.health().failure).toBeUndefined();
    });

    test('treats an AbortError that it did not cause as a failure', async () => {
      await start();
      const foreign = Object.assign(new Error('gone'), { name: 'AbortError' }) as unknown as KubeletError;
      cri.faults.fail('listContainers', foreign);
      await clock.advance(1_000);
      expect(pleg.health().failure).toBe('gone');
    });

    test('relists again at once when requested during a relist', async () => {
      await start();
      cri.faults.latency('listContainers', 400);
      await clock.advance(1_100);
      const id = await sandbox('late');
      pleg.pokeRelist();
      cri.faults.latency('listContainers', 0);
      await clock.advance(310);
      expect(observed.get(asPodUid('late'))?.sandboxes[0]?.id).toBe(id);
    });

    test('relists at once when requested between two relists', async () => {
      await start();
      await clock.advance(100);
      await sandbox('a');
      pleg.pokeRelist();
      await clock.advance(0);
      expect(observed.get(a)).toBeDefined();
    });
  });

  describe('inspections', () => {
    test('a poke triggers an inspection', async () => {
      await start();
      await sandbox('a');
      pleg.poke(a);
      await clock.advance(0);
      expect(announced).toEqual(['answered', 'a']);
    });

    test('an older inspection that ends later does not overwrite a newer one', async () => {
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

    test('logs and retries a failed inspection', async () => {
      cri.faults.fail('podSandboxStatus', unknown);
      await start();
      await sandbox('a');
      pleg.poke(a);
      await clock.advance(0);
      expect([logged.at(-1), observed.get(a)]).toEqual(['Failed to inspect pod, will retry', undefined]);
      await clock.advance(500);
      expect(observed.get(a)).toBeDefined();
    });
  });
});
