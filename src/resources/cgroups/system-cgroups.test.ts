import { expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { KubeletError } from '../../base/errors.ts';
import { Verbosity } from '../../base/log/log.ts';
import { textLogger } from '../../base/log/log-text.ts';
import { SystemCgroups } from './system-cgroups.ts';

const ownPid = 100;

/** By process: its cgroup. 2 is a thread of the kernel. */
function rig(settings: { readonly kubelet?: string; readonly system?: string }, inContainer = false) {
  const clock = new FakeClock(0);
  const places = new Map([
    [1, '/'],
    [2, '/'],
    [50, '/'],
    [60, '/other'],
    [ownPid, '/'],
  ]);
  const moves: string[] = [];
  const made: string[] = [];
  const lines: string[] = [];
  let fault: KubeletError | undefined;
  const component = new SystemCgroups({
    processes: {
      make: async (path) => void made.push(path),
      move: async (pid, path) => {
        if (fault !== undefined) throw fault;
        moves.push(`${pid} ${path}`);
        places.set(pid, path);
      },
      inRoot: async () => [...places].filter(([, place]) => place === '/').map(([pid]) => pid),
      isKernelThread: async (pid) => pid === 2,
      isOnHost: async () => !inContainer,
      cgroupOf: async (pid) => places.get(pid) ?? '',
    },
    ownPid,
    kubelet: '',
    system: '',
    ...settings,
    clock,
    log: textLogger({ write: (line) => void lines.push(line), clock, verbosity: new Verbosity(0), pid: 1 }),
  });
  const stop = new AbortController();
  const start = async () => {
    const { stopped } = await component.start(stop.signal);
    await clock.advance(10);
    return async () => {
      stop.abort();
      await clock.until(stopped, 1000);
    };
  };
  return { clock, lines, made, moves, places, start, fail: (err?: KubeletError) => void (fault = err) };
}

test('the kubelet goes where it is wanted, once, and back when somebody moved it', async () => {
  const { clock, made, moves, places, start } = rig({ kubelet: '/kube' });
  const stop = await start();
  await clock.advance(300_000);
  expect([made, moves]).toEqual([['/kube'], ['100 /kube']]);
  places.set(ownPid, '/elsewhere');
  await clock.advance(60_000);
  expect(moves).toEqual(['100 /kube', '100 /kube']);
  await stop();
});

test('one that runs in a container is left alone', async () => {
  const { moves, start } = rig({ kubelet: '/kube' }, true);
  const stop = await start();
  expect(moves).toEqual([]);
  await stop();
});

test('what is in no cgroup goes to that of the system, but for the first process and the kernel', async () => {
  const { clock, moves, places, start } = rig({ system: '/system' });
  const stop = await start();
  expect(moves).toEqual(['50 /system', '100 /system']);
  places.set(70, '/');
  await clock.advance(60_000);
  expect(moves.at(-1)).toBe('70 /system');
  await stop();
});

test('the top is no place for it', async () =>
  await expect(rig({ system: '/' }).start()).rejects.toThrow('system container cannot be root ("/")'));

test('what cannot be moved is told once and tried again', async () => {
  const { clock, fail, lines, moves, start } = rig({ kubelet: '/kube' });
  fail(new KubeletError('forbidden', 'EPERM', 'cannot write "100"'));
  const stop = await start();
  await clock.advance(20_000);
  expect(lines).toHaveLength(1);
  fail();
  await clock.advance(60_000);
  expect(moves).toEqual(['100 /kube']);
  await stop();
});
