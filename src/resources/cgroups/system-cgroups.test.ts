import { expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { KubeletError } from '../../base/errors.ts';
import { Verbosity } from '../../base/log/log.ts';
import { textLogger } from '../../base/log/log-text.ts';
import { SystemCgroups } from './system-cgroups.ts';

const ownPid = 100;

/** `cgroups` has the cgroup of each process. 2 is a kernel thread. */
function rig(settings: { readonly kubelet?: string; readonly system?: string }, inContainer = false) {
  const clock = new FakeClock(0);
  const cgroups = new Map([
    [1, '/'],
    [2, '/'],
    [50, '/'],
    [60, '/other'],
    [ownPid, '/'],
  ]);
  const moves: string[] = [];
  const created: string[] = [];
  const lines: string[] = [];
  let fault: KubeletError | undefined;
  const component = new SystemCgroups({
    processes: {
      create: async (path) => void created.push(path),
      move: async (pid, path) => {
        if (fault !== undefined) throw fault;
        moves.push(`${pid} ${path}`);
        cgroups.set(pid, path);
      },
      inRoot: async () => [...cgroups].filter(([, path]) => path === '/').map(([pid]) => pid),
      isKernelThread: async (pid) => pid === 2,
      isOnHost: async () => !inContainer,
      cgroupOf: async (pid) => cgroups.get(pid) ?? '',
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
  return { clock, lines, created, moves, cgroups, start, fail: (err?: KubeletError) => void (fault = err) };
}

test('moves the kubelet to kubeletCgroups once, and again after it was moved away', async () => {
  const { clock, created, moves, cgroups, start } = rig({ kubelet: '/kube' });
  const stop = await start();
  await clock.advance(300_000);
  expect([created, moves]).toEqual([['/kube'], ['100 /kube']]);
  cgroups.set(ownPid, '/foreign');
  await clock.advance(60_000);
  expect(moves).toEqual(['100 /kube', '100 /kube']);
  await stop();
});

test('does not move a kubelet that runs in a container', async () => {
  const { moves, start } = rig({ kubelet: '/kube' }, true);
  const stop = await start();
  expect(moves).toEqual([]);
  await stop();
});

test('moves processes of the root cgroup to systemCgroups, except PID 1 and kernel threads', async () => {
  const { clock, moves, cgroups, start } = rig({ system: '/system' });
  const stop = await start();
  expect(moves).toEqual(['50 /system', '100 /system']);
  cgroups.set(70, '/');
  await clock.advance(60_000);
  expect(moves.at(-1)).toBe('70 /system');
  await stop();
});

test('rejects the root cgroup as systemCgroups', async () =>
  await expect(rig({ system: '/' }).start()).rejects.toThrow('system container cannot be root ("/")'));

test('logs a failed move once and retries it', async () => {
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
