import { expect, test } from 'vitest';
import { aPod } from '../../test/builders/builders.ts';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import type { Pod } from '../api/k8s/types.ts';
import { asPodUid, type PodUid, podUid } from '../api/pod/pod-ref.ts';
import type { PodKill } from '../api/ports/pod-kill.ts';
import { Channel } from '../base/channel.ts';
import { startComponent } from '../base/component.ts';
import { Verbosity } from '../base/log/log.ts';
import { textLogger } from '../base/log/log-text.ts';
import { UnfinishedEvictions } from './unfinished-evictions.ts';

const kill: PodKill = { reason: 'Evicted', message: 'The node was low on resource: memory. ', evicted: true };

/** One kubelet on the files of the one before it. */
function kubelet(disk: { text: string | undefined; hangs?: boolean; fails?: boolean }) {
  const clock = new FakeClock();
  const pods = new Map<PodUid, Pod>();
  const changed = new Channel<PodUid>();
  const apiChanged = new Channel<PodUid>();
  const ready = new Channel<void>();
  const killed: (readonly [PodUid, PodKill])[] = [];
  const logged: string[] = [];
  const evictions = new UnfinishedEvictions({
    files: {
      read: async () => disk.text,
      write: async (_path, text) => {
        if (disk.hangs === true) await new Promise(() => undefined);
        if (disk.fails === true) throw new Error('ENOSPC');
        disk.text = text;
      },
    },
    path: '/evictions',
    desired: { get: (each) => pods.get(each), changed, ready },
    apiPods: { get: (each) => pods.get(each), changed: apiChanged },
    kills: { kill: async (uid, each) => void killed.push([uid, each]) },
    clock,
    log: textLogger({ write: (line) => void logged.push(line), clock, verbosity: new Verbosity(0), pid: 1 }),
  });
  return {
    clock,
    evictions,
    killed,
    logged,
    ready,
    start: () => startComponent(evictions, new AbortController().signal),
    put: (pod: Pod) => {
      pods.set(podUid(pod), pod);
      apiChanged.push(podUid(pod));
      changed.push(podUid(pod));
    },
    remove: (pod: Pod) => {
      pods.delete(podUid(pod));
      apiChanged.push(podUid(pod));
      changed.push(podUid(pod));
    },
  };
}

const pod = aPod({ name: 'victim' });
const uid = podUid(pod);

test('an eviction that a killed kubelet began is finished by the next, before the pod is synced', async () => {
  const disk = { text: undefined };
  const first = kubelet(disk);
  await first.start();
  first.put(pod);
  await first.evictions.add(uid, kill);
  const next = kubelet(disk);
  await next.start();
  expect(next.killed).toEqual([]);
  next.put(pod);
  expect(next.killed).toEqual([[uid, kill]]);
  next.put(pod);
  expect(next.killed).toHaveLength(1);
});

test('nothing is resumed once the API server has the end of the pod, or the pod is gone', async () => {
  for (const end of ['Failed', 'gone'] as const) {
    const disk: { text: string | undefined } = { text: undefined };
    const first = kubelet(disk);
    await first.start();
    first.put(pod);
    await first.evictions.add(uid, kill);
    if (end === 'gone') first.remove(pod);
    else first.put({ ...pod, status: { phase: 'Failed' } });
    await first.clock.advance(0);
    expect(disk.text).toBe('{}\n');
    const next = kubelet(disk);
    await next.start();
    next.put(pod);
    expect(next.killed).toEqual([]);
  }
});

test('a pod that vanished while no kubelet ran is forgotten when every source has reported', async () => {
  const disk = { text: JSON.stringify({ [uid]: kill }) };
  const next = kubelet(disk);
  await next.start();
  next.ready.push();
  await next.clock.advance(0);
  expect([next.killed, disk.text]).toEqual([[], '{}\n']);
});

test('writes nothing on a node that evicts nothing', async () => {
  const disk: { text: string | undefined } = { text: undefined };
  const only = kubelet(disk);
  await only.start();
  only.put(pod);
  only.ready.push();
  only.remove(pod);
  await only.clock.advance(0);
  expect(disk.text).toBeUndefined();
});

const damaged = ['', '{', 'null', '[]', '"text"', '{"u":null}', '{"u":{"reason":1}}', '\0'.repeat(100)];
for (const text of damaged)
  test(`starts with a damaged file: ${JSON.stringify(text.slice(0, 20))}`, async () => {
    const next = kubelet({ text });
    await next.start();
    next.put(pod);
    expect(next.killed).toEqual([]);
  });

test('a full or hung disk does not keep a pod from being evicted', async () => {
  const full = kubelet({ text: undefined, fails: true });
  await full.start();
  await full.evictions.add(uid, kill);
  expect(full.logged.join('')).toContain('Failed to write the evictions in progress');
  const hung = kubelet({ text: undefined, hangs: true });
  await hung.start();
  const added = hung.evictions.add(uid, kill);
  await hung.clock.advance(1_000);
  await expect(added).resolves.toBeUndefined();
  const many = Promise.all(Array.from({ length: 50 }, (_, i) => hung.evictions.add(asPodUid(`u${i}`), kill)));
  await hung.clock.advance(2_000);
  await expect(many).resolves.toHaveLength(50);
});
