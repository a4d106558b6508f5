import { describe, expect, test } from 'vitest';
import { anObservedContainer, anObservedPod, aSandbox, exited } from '../../../test/builders/builders.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import type { ObservedPod } from '../../api/pod/observed.ts';
import { asContainerId, asSandboxId } from '../../api/pod/pod-ref.ts';
import { KubeletError } from '../../base/errors.ts';
import { silentLogger } from '../../base/log/log.ts';
import {
  computeGarbage,
  isEmpty,
  removeContainers,
  removeLogs,
  removeSandboxes,
  withUnsharedLogs,
} from './garbage.ts';
import { RefusedRemovals } from './refused-removals.ts';

const dead = (id: string, over: object = {}): ReturnType<typeof exited> =>
  exited(1, { id: asContainerId(id), ...over });
const old = aSandbox({ id: asSandboxId('old'), ready: false });

describe('dead containers of the whole node', () => {
  const podOf = (name: string, ...createdAt: readonly number[]): ObservedPod =>
    anObservedPod({
      name,
      containers: [
        anObservedContainer({ createdAtMs: 100 }),
        ...createdAt.map((createdAtMs) => dead(`${name}-${createdAtMs}`, { createdAtMs })),
      ],
    });
  const one = podOf('one', 30, 10);
  const two = podOf('two', 40, 20);
  const removed = (pod: ObservedPod, total: number, over: object = {}): readonly string[] =>
    computeGarbage(pod, { perContainer: -1, minAgeMs: 0, total, ...over }, 100, [one, two]).containers.map(
      ({ id }) => id,
    );

  for (const [total, ofOne, ofTwo] of [
    [-1, [], []],
    [4, [], []],
    [3, ['one-10'], []],
    [2, ['one-10'], ['two-20']],
    [0, ['one-30', 'one-10'], ['two-40', 'two-20']],
  ] as const)
    test(`keeps ${total} and removes the oldest first`, () =>
      expect([removed(one, total), removed(two, total)]).toEqual([ofOne, ofTwo]));

  test('keeps containers below the minimum age', () =>
    expect(removed(two, 0, { minAgeMs: 75 })).toEqual(['two-20']));
});

describe('computeGarbage', () => {
  const cases: readonly (readonly [string, Partial<ObservedPod>, readonly string[], readonly string[]])[] = [
    ['nothing to collect', {}, [], []],
    [
      'keeps one dead container beside the running one',
      { containers: [anObservedContainer(), dead('c1')] },
      [],
      [],
    ],
    [
      'removes older dead containers',
      { containers: [anObservedContainer(), dead('c1'), dead('c0')] },
      ['c0'],
      [],
    ],
    ['keeps one per name', { containers: [dead('c1'), dead('d1', { name: 'd' }), dead('c0')] }, ['c0'], []],
    [
      'neither made nor unknown ones go',
      {
        containers: [
          dead('c2'),
          anObservedContainer({ state: 'created' }),
          anObservedContainer({ state: 'unknown' }),
        ],
      },
      [],
      [],
    ],
    ['removes an empty older sandbox', { sandboxes: [aSandbox(), old] }, [], ['old']],
    [
      'keeps a sandbox with a dead container that is kept',
      { sandboxes: [aSandbox(), old], containers: [anObservedContainer(), dead('c1', { sandboxId: 'old' })] },
      [],
      [],
    ],
    [
      'removes a sandbox together with its containers',
      {
        sandboxes: [aSandbox(), old],
        containers: [anObservedContainer(), dead('c1'), dead('c0', { sandboxId: 'old' })],
      },
      ['c0'],
      ['old'],
    ],
    ['keeps the newest sandbox even if it is not ready', { sandboxes: [old], containers: [] }, [], []],
    ['keeps a ready sandbox', { sandboxes: [aSandbox(), aSandbox({ id: asSandboxId('s2') })] }, [], []],
  ];
  for (const [name, over, containers, sandboxes] of cases) {
    test(name, () => {
      const garbage = computeGarbage(anObservedPod(over));
      expect(garbage.containers.map(({ id }) => id)).toEqual(containers);
      expect(garbage.sandboxes.map(({ id }) => id)).toEqual(sandboxes);
      expect(isEmpty(garbage)).toBe(containers.length + sandboxes.length === 0);
    });
  }
});

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

test('keeps dead containers according to the flags', () => {
  const containers = [
    dead('c3', { createdAtMs: 4_000 }),
    dead('c2', { createdAtMs: 3_000 }),
    dead('c1', { createdAtMs: 2_000 }),
    dead('c0', { createdAtMs: 1_000 }),
  ];
  const ids = (perContainer: number, minAgeMs: number, first = containers): readonly string[] =>
    computeGarbage(
      anObservedPod({ containers: first }),
      { perContainer, minAgeMs, total: -1 },
      5_000,
    ).containers.map(({ id }) => id);
  expect(ids(2, 0)).toEqual(['c1', 'c0']);
  expect(ids(-1, 0)).toEqual([]);
  expect(ids(1, 3_500)).toEqual(['c0']);
  // The newest of a name is what its status is made of.
  expect(ids(0, 0)).toEqual(['c2', 'c1', 'c0']);
  expect(ids(0, 0, [anObservedContainer(), ...containers])).toEqual(['c3', 'c2', 'c1', 'c0']);
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
