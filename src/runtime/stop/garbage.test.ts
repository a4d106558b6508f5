import { expect, test } from 'vitest';
import { anObservedContainer, anObservedPod, aSandbox, exited } from '../../../test/builders/builders.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { asContainerId, asSandboxId } from '../../api/pod/pod-ref.ts';
import { KubeletError } from '../../base/errors.ts';
import { silentLogger } from '../../base/log/log.ts';
import { removeContainers, removeLogs, removeSandboxes, withUnsharedLogs } from './garbage.ts';
import { RefusedRemovals } from './refused-removals.ts';

const dead = (id: string, over: object = {}): ReturnType<typeof exited> =>
  exited(1, { id: asContainerId(id), ...over });

test('tolerates missing containers and attempts all removals before it fails', async () => {
  const calls: string[] = [];
  const answer = async (id: string | undefined, what: string): Promise<object> => {
    calls.push(`${what} ${id}`);
    if (id === 'gone') throw new KubeletError('not-found', 'NOT_FOUND', 'gone');
    if (id === 'stuck') throw new KubeletError('internal', 'UNKNOWN', 'stuck');
    return {};
  };
  const cri = {
    removeContainer: ({ containerId }: { containerId?: string | undefined }) => answer(containerId, 'remove'),
    stopPodSandbox: ({ podSandboxId }: { podSandboxId?: string | undefined }) => answer(podSandboxId, 'stop'),
    removePodSandbox: ({ podSandboxId }: { podSandboxId?: string | undefined }) =>
      answer(podSandboxId, 'remove'),
  };
  const { signal } = new AbortController();
  const refusedRemovals = new RefusedRemovals({ clock: new FakeClock(), log: silentLogger });
  const deps = { cri, records: { refusedRemovals } };
  const others = [dead('gone'), dead('c0')];
  await expect(removeContainers(deps, [dead('stuck'), ...others], signal)).rejects.toThrow('stuck');
  expect(calls.splice(0)).toEqual(['remove stuck', 'remove gone', 'remove c0']);
  const cut = { reason: 'StartError', startedAtMs: 0, message: 'failed to get task pid: context canceled' };
  const ended = [dead('stuck', cut), ...others];
  // Refused for good: no failure, and not retried at once.
  expect((await removeContainers(deps, ended, signal)).map(({ id }) => id)).toEqual(['stuck']);
  expect((await removeContainers(deps, ended, signal)).map(({ id }) => id)).toEqual(['stuck']);
  expect(calls.splice(0)).toEqual(['remove stuck', 'remove gone', 'remove c0', 'remove gone', 'remove c0']);
  const sandboxes = ['gone', 'a'].map((id) => aSandbox({ id: asSandboxId(id) }));
  await removeSandboxes({ cri }, sandboxes, signal);
  expect(calls).toEqual(['stop gone', 'stop a', 'remove gone', 'remove a']);
});

test('a log is removed with its container only if no other container uses it', () => {
  const logPath = '/var/log/pods/p/c/0.log';
  const [never, before, other] = [
    dead('never', { logPath }),
    dead('before', { logPath }),
    dead('other', { logPath: `${logPath}.1` }),
  ];
  const seen = anObservedPod({ containers: [anObservedContainer(), before, never, other] });
  expect(withUnsharedLogs(seen, [never, other])).toEqual([other]);
  expect(withUnsharedLogs(seen, [before, never])).toEqual([before, never]);
});

test('removes logs and rotated logs, but only in the pod log directory', async () => {
  const removed: string[] = [];
  const files = {
    listNames: async () => ['0.log', '0.log.20261115', '1.log', '10.log'],
    removeFile: async (path: string) => void removed.push(path),
  };
  const paths = ['/var/log/pods/ns_p_u/c/0.log', '/etc/c/0.log', '/var/log/pods/../x/0.log', ''];
  await removeLogs(
    { files, settings: { podLogsDir: '/var/log/pods' } },
    paths.map((logPath) => ({ logPath })),
  );
  expect(removed).toEqual(['/var/log/pods/ns_p_u/c/0.log', '/var/log/pods/ns_p_u/c/0.log.20261115']);
});
