import { expect, test } from 'vitest';
import type { Pod } from '../api/k8s.ts';
import type { ObservedPod } from '../api/observed.ts';
import { asContainerId, asSandboxId } from '../api/pod-ref.ts';
import {
  aContainer,
  anObservedContainer,
  anObservedPod,
  aPod,
  aSandbox,
  exited,
} from '../testing/builders.ts';
import { computePodActions, hasEndedForGood, type PodAction } from './compute-pod-actions.ts';

const startC: PodAction = { do: 'start-container', name: 'c' };
const startD: PodAction = { do: 'start-container', name: 'd' };
const two = { containers: [aContainer(), aContainer({ name: 'd' })] };
const stopAll = (why: string): PodAction => ({ do: 'stop-pod', why });
const recreated = (why: string): PodAction => stopAll(`Pod sandbox changed: ${why}`);
const up = (...containers: ObservedPod['containers']): ObservedPod => anObservedPod({ containers });
const dead = aSandbox({ ready: false });

const cut = exited(128, {
  reason: 'StartError',
  startedAtMs: 0,
  message: 'failed to create containerd task: failed to create shim task: context canceled: unknown',
});
const startAgain: PodAction = { do: 'start-container', name: 'c', replaces: asContainerId('c-1') };

const cases: readonly (readonly [string, Pod, ObservedPod | undefined, readonly PodAction[]])[] = [
  ['in sync → nothing', aPod(), anObservedPod(), []],
  ['new pod → sandbox, then containers', aPod(), undefined, [{ do: 'create-sandbox', attempt: 0 }, startC]],
  [
    'new pod of two → both, in order',
    aPod(two),
    undefined,
    [{ do: 'create-sandbox', attempt: 0 }, startC, startD],
  ],
  ['sandbox there, container not → container', aPod(), up(), [startC]],
  ['one of two is missing → that one', aPod(two), up(anObservedContainer()), [startD]],
  ['Always, exit 0 → again', aPod(), up(exited(0)), [startC]],
  ['Always, exit 1 → again', aPod(), up(exited(1)), [startC]],
  ['OnFailure, exit 1 → again', aPod({ restartPolicy: 'OnFailure' }), up(exited(1)), [startC]],
  [
    'OnFailure, exit 0 beside a running one → stays down',
    aPod({ ...two, restartPolicy: 'OnFailure' }),
    up(exited(0), anObservedContainer({ name: 'd' })),
    [],
  ],
  [
    'Never, exit 1 beside a running one → stays down',
    aPod({ ...two, restartPolicy: 'Never' }),
    up(exited(1), anObservedContainer({ name: 'd' })),
    [],
  ],
  [
    'Never, all ended → the pod stops',
    aPod({ restartPolicy: 'Never' }),
    up(exited(1)),
    [stopAll('all containers have ended and none is to be started again')],
  ],
  [
    'the newest container of a name counts',
    aPod(),
    up(anObservedContainer({ id: asContainerId('c-2'), createdAtMs: 9 }), exited(1)),
    [],
  ],
  [
    'hash changed → restart it, whatever the policy',
    aPod({ restartPolicy: 'Never' }),
    up(anObservedContainer({ hash: 'other' })),
    [
      {
        do: 'stop-container',
        id: asContainerId('c-1'),
        name: 'c',
        why: 'Container c definition changed, will be restarted',
      },
      startC,
    ],
  ],
  [
    'unknown state → stop it before another is made',
    aPod(),
    up(anObservedContainer({ state: 'unknown' })),
    [
      {
        do: 'stop-container',
        id: asContainerId('c-1'),
        name: 'c',
        why: 'Container is in "unknown" state, try killing it before restart',
      },
      startC,
    ],
  ],
  [
    'created, never started → start that one',
    aPod(),
    up(anObservedContainer({ state: 'created' })),
    [{ do: 'start-created', name: 'c', id: asContainerId('c-1') }],
  ],
  ['a start that was cut off → again in its place', aPod(), up(cut), [startAgain]],
  ['a start that was cut off under Never → again', aPod({ restartPolicy: 'Never' }), up(cut), [startAgain]],
  [
    'a start that failed by itself under Never → the pod stops',
    aPod({ restartPolicy: 'Never' }),
    up({ ...cut, message: 'exec: "/no/such/binary": no such file or directory' }),
    [stopAll('all containers have ended and none is to be started again')],
  ],
  [
    'created from another spec → a new one in its place',
    aPod(),
    up(anObservedContainer({ state: 'created', hash: 'other' })),
    [startAgain],
  ],
  [
    'created in an older sandbox → a new one in its place',
    aPod(),
    up(anObservedContainer({ state: 'created', sandboxId: asSandboxId('older') })),
    [startAgain],
  ],
  [
    'sandbox died → stop the rest, next attempt, all containers',
    aPod(),
    anObservedPod({ sandboxes: [dead] }),
    [recreated('the sandbox is not ready'), { do: 'create-sandbox', attempt: 1 }, startC],
  ],
  [
    'sandbox died under Never, containers had run → only clear away',
    aPod({ restartPolicy: 'Never' }),
    anObservedPod({ sandboxes: [dead], containers: [exited(0)] }),
    [recreated('the sandbox is not ready')],
  ],
  [
    'sandbox died under Never before any container → try again',
    aPod({ restartPolicy: 'Never' }),
    anObservedPod({ sandboxes: [dead], containers: [] }),
    [recreated('the sandbox is not ready'), { do: 'create-sandbox', attempt: 1 }, startC],
  ],
  [
    'sandbox died under Never, a start was cut off → try again',
    aPod({ restartPolicy: 'Never' }),
    anObservedPod({ sandboxes: [dead], containers: [cut] }),
    [recreated('the sandbox is not ready'), { do: 'create-sandbox', attempt: 1 }, startAgain],
  ],
  [
    'sandbox died under OnFailure, one had succeeded → only the other',
    aPod({ ...two, restartPolicy: 'OnFailure' }),
    anObservedPod({ sandboxes: [dead], containers: [exited(0), exited(1, { name: 'd' })] }),
    [recreated('the sandbox is not ready'), { do: 'create-sandbox', attempt: 1 }, startD],
  ],
  [
    'sandbox died under OnFailure, all had succeeded → only clear away',
    aPod({ restartPolicy: 'OnFailure' }),
    anObservedPod({ sandboxes: [dead], containers: [exited(0)] }),
    [recreated('the sandbox is not ready')],
  ],
  [
    'two ready sandboxes → one new',
    aPod(),
    anObservedPod({ sandboxes: [aSandbox({ attempt: 4 }), aSandbox({ id: asSandboxId('older') })] }),
    [recreated('more than one sandbox is ready'), { do: 'create-sandbox', attempt: 5 }, startC],
  ],
  [
    'an older dead sandbox beside a ready one → nothing',
    aPod(),
    anObservedPod({ sandboxes: [aSandbox({ attempt: 1 }), { ...dead, id: asSandboxId('older') }] }),
    [],
  ],
  [
    'host network asked for → another sandbox',
    aPod({ hostNetwork: true }),
    anObservedPod(),
    [recreated('the network namespace changed'), { do: 'create-sandbox', attempt: 1 }, startC],
  ],
  [
    'no address → another sandbox',
    aPod(),
    anObservedPod({ sandboxes: [aSandbox({ ips: [] })] }),
    [recreated('the sandbox has no address'), { do: 'create-sandbox', attempt: 1 }, startC],
  ],
  [
    'host network needs no address',
    aPod({ hostNetwork: true }),
    anObservedPod({ sandboxes: [aSandbox({ ips: [], hostNetwork: true })] }),
    [],
  ],
];

for (const [name, pod, seen, want] of cases) {
  test(`computePodActions: ${name}`, () => expect(computePodActions(pod, seen)).toEqual(want));
}

test('a pod marked for deletion starts nothing again', () => {
  const pod = aPod();
  const deleted = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2026-11-15T00:00:00Z' } };
  expect(computePodActions(deleted, up(exited(1)))).toEqual([
    stopAll('all containers have ended and none is to be started again'),
  ]);
});

const endings: readonly (readonly [string, Pod, ObservedPod | undefined, boolean])[] = [
  ['Never, exit 1', aPod({ restartPolicy: 'Never' }), up(exited(1)), true],
  ['OnFailure, exit 0', aPod({ restartPolicy: 'OnFailure' }), up(exited(0)), true],
  ['OnFailure, exit 1', aPod({ restartPolicy: 'OnFailure' }), up(exited(1)), false],
  ['Always, exit 0', aPod(), up(exited(0)), false],
  ['Never, still running', aPod({ restartPolicy: 'Never' }), anObservedPod(), false],
  ['Never, one of two never started', aPod({ ...two, restartPolicy: 'Never' }), up(exited(0)), false],
  ['Never, start cut off', aPod({ restartPolicy: 'Never' }), up(cut), false],
  ['never seen', aPod({ restartPolicy: 'Never' }), undefined, false],
];
for (const [name, pod, seen, want] of endings) {
  test(`hasEndedForGood: ${name} → ${want}`, () => expect(hasEndedForGood(pod, seen)).toBe(want));
}
