import { expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import type { EventText } from '../../api/ports/events.ts';
import { KubeletError } from '../../base/errors.ts';
import { Verbosity } from '../../base/log/log.ts';
import { textLogger } from '../../base/log/log-text.ts';
import { OomWatcher, type OomWatcherDeps } from './oom-watcher.ts';

type Listener = Parameters<OomWatcherDeps['follow']>[0];

function rig(fault?: KubeletError) {
  const faults = { next: fault };
  const clock = new FakeClock(0);
  const events: EventText[] = [];
  const lines: string[] = [];
  const listeners: Listener[] = [];
  const closed: number[] = [];
  const watcher = new OomWatcher({
    follow: async (listener) => {
      if (faults.next !== undefined) throw faults.next;
      const index = listeners.push(listener);
      return { close: () => void closed.push(index) };
    },
    events: { node: (event) => void events.push(event) },
    clock,
    log: textLogger({ write: (line) => void lines.push(line), clock, verbosity: new Verbosity(0), pid: 1 }),
  });
  const stop = new AbortController();
  const log = (...texts: string[]): void => {
    for (const text of texts) listeners.at(-1)?.onRecord(`6,1,2,-;${text}\n`);
  };
  return { clock, events, faults, lines, listeners, closed, watcher, stop, log };
}

const first = 'x invoked oom-killer: y';
const limit = (cgroup: string): string =>
  `oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/kubepods/podu,task_memcg=${cgroup},task=app,pid=5,uid=0`;

test("emits upstream's node event for a system-wide OOM", async () => {
  const { events, log, stop, watcher } = rig();
  const { stopped } = await watcher.start(stop.signal);
  log(first, 'Out of memory: Killed process 77 (hog) total-vm:1kB');
  expect(events).toEqual([
    { type: 'Warning', reason: 'SystemOOM', message: 'System OOM encountered, victim process: hog, pid: 77' },
  ]);
  expect([...watcher.counts()]).toEqual([['/', 1]]);
  stop.abort();
  await stopped;
});

test('attributes kills to containers, however their cgroups are named', async () => {
  const { log, stop, watcher } = rig();
  const { stopped } = await watcher.start(stop.signal);
  const [one, two, three] = ['a1', 'b2', 'c3'];
  log(first, limit(`/kubepods/podu/${one}`), first, limit(`/kubepods/podu/${two}/init.scope`));
  log(first, limit(`/kubepods.slice/kubepods-podu.slice/cri-containerd-${three}.scope`));
  const killed = [one, two, three, 'a', '1', 'podu2'].filter((id) => watcher.hasKilledIn(id));
  expect(killed).toEqual([one, two, three]);
  stop.abort();
  await stopped;
});

test('counts and logs a kill at the limit of a pod without a node event', async () => {
  const { events, lines, log, stop, watcher } = rig();
  const { stopped } = await watcher.start(stop.signal);
  log(first, limit('/kubepods/podu/c'), first, limit('/kubepods/podu/c'));
  expect(events).toEqual([]);
  expect([...watcher.counts()]).toEqual([['/kubepods/podu/c', 2]]);
  expect(lines.join('\n')).toContain('podUID="u"');
  stop.abort();
  await stopped;
});

test('drops the oldest count above the maximum', async () => {
  const { log, stop, watcher } = rig();
  const { stopped } = await watcher.start(stop.signal);
  for (let index = 0; index <= 1_000; index++) log(first, limit(`/kubepods/podu/c${index}`));
  expect([watcher.counts().size, watcher.counts().has('/kubepods/podu/c0')]).toEqual([1_000, false]);
  stop.abort();
  await stopped;
});

test('warns about a log that cannot be opened, and starts', async () => {
  const { lines, stop, watcher } = rig(new KubeletError('forbidden', 'EPERM', 'cannot open /dev/kmsg'));
  const { stopped } = await watcher.start(stop.signal);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('OOM kills are not reported');
  stop.abort();
  await stopped;
});

test('warns once about a broken log, and reopens it without the incomplete kill', async () => {
  const { clock, closed, events, lines, listeners, log, stop, watcher } = rig();
  const { stopped } = await watcher.start(stop.signal);
  log(first);
  for (let count = 1; count <= 3; count++) {
    listeners.at(-1)?.onError(new Error('gone'));
    await clock.advance(10_000);
  }
  expect([listeners.length, lines.length]).toEqual([4, 1]);
  log('Killed process 77 (hog)');
  expect(events).toEqual([]);
  log(first, 'Killed process 77 (hog)');
  expect(events).toHaveLength(1);
  stop.abort();
  await stopped;
  expect(closed).toEqual([4]);
});

test('retries until a broken log can be reopened', async () => {
  const { clock, faults, listeners, stop, watcher } = rig();
  const { stopped } = await watcher.start(stop.signal);
  faults.next = new KubeletError('not-found', 'ENOENT', 'cannot open /dev/kmsg');
  listeners.at(-1)?.onError(new Error('gone'));
  await clock.advance(25_000);
  faults.next = undefined;
  await clock.advance(10_000);
  expect(listeners).toHaveLength(2);
  stop.abort();
  await stopped;
  expect(clock.pendingTimers()).toBe(0);
});
