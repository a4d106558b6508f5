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
  const say = (...texts: string[]): void => {
    for (const text of texts) listeners.at(-1)?.onRecord(`6,1,2,-;${text}\n`);
  };
  return { clock, events, faults, lines, listeners, closed, watcher, stop, say };
}

const first = 'x invoked oom-killer: y';
const limit = (cgroup: string): string =>
  `oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/kubepods/podu,task_memcg=${cgroup},task=app,pid=5,uid=0`;

test('a machine without memory is an event of the node, in the words of upstream', async () => {
  const { events, say, stop, watcher } = rig();
  const { stopped } = await watcher.start(stop.signal);
  say(first, 'Out of memory: Killed process 77 (hog) total-vm:1kB');
  expect(events).toEqual([
    { type: 'Warning', reason: 'SystemOOM', message: 'System OOM encountered, victim process: hog, pid: 77' },
  ]);
  expect([...watcher.counts()]).toEqual([['/', 1]]);
  stop.abort();
  await stopped;
});

test('whose process it was is known by the container, whatever its cgroup is called', async () => {
  const { say, stop, watcher } = rig();
  const { stopped } = await watcher.start(stop.signal);
  const [one, two, three] = ['a1', 'b2', 'c3'];
  say(first, limit(`/kubepods/podu/${one}`), first, limit(`/kubepods/podu/${two}/init.scope`));
  say(first, limit(`/kubepods.slice/kubepods-podu.slice/cri-containerd-${three}.scope`));
  const known = [one, two, three, 'a', '1', 'podu2'].filter((id) => watcher.hasKilledIn(id));
  expect(known).toEqual([one, two, three]);
  stop.abort();
  await stopped;
});

test('a limit of a pod is none: it is counted, and logged with the pod', async () => {
  const { events, lines, say, stop, watcher } = rig();
  const { stopped } = await watcher.start(stop.signal);
  say(first, limit('/kubepods/podu/c'), first, limit('/kubepods/podu/c'));
  expect(events).toEqual([]);
  expect([...watcher.counts()]).toEqual([['/kubepods/podu/c', 2]]);
  expect(lines.join('\n')).toContain('podUID="u"');
  stop.abort();
  await stopped;
});

test('the counts are bounded: the oldest goes first', async () => {
  const { say, stop, watcher } = rig();
  const { stopped } = await watcher.start(stop.signal);
  for (let index = 0; index <= 1_000; index++) say(first, limit(`/kubepods/podu/c${index}`));
  expect([watcher.counts().size, watcher.counts().has('/kubepods/podu/c0')]).toEqual([1_000, false]);
  stop.abort();
  await stopped;
});

test('a log that cannot be opened is a warning, and the kubelet goes on', async () => {
  const { lines, stop, watcher } = rig(new KubeletError('forbidden', 'EPERM', 'cannot open /dev/kmsg'));
  const { stopped } = await watcher.start(stop.signal);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('OOM kills will not be told');
  stop.abort();
  await stopped;
});

test('a log that breaks off is a warning once, and opened again without what was half said', async () => {
  const { clock, closed, events, lines, listeners, say, stop, watcher } = rig();
  const { stopped } = await watcher.start(stop.signal);
  say(first);
  for (let count = 1; count <= 3; count++) {
    listeners.at(-1)?.onError(new Error('gone'));
    await clock.advance(10_000);
  }
  expect([listeners.length, lines.length]).toEqual([4, 1]);
  say('Killed process 77 (hog)');
  expect(events).toEqual([]);
  say(first, 'Killed process 77 (hog)');
  expect(events).toHaveLength(1);
  stop.abort();
  await stopped;
  expect(closed).toEqual([4]);
});

test('one that cannot be opened again at first is tried until it can', async () => {
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
