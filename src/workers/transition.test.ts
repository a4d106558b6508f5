import { expect, test } from 'vitest';
import { anObservedPod, aPod, aSandbox, exited, type PodOver } from '../../test/builders/builders.ts';
import type { Pod } from '../api/k8s/types.ts';
import type { PodKill } from '../api/ports/pod-kill.ts';
import {
  computeGraceSeconds,
  computeTransition,
  type Ending,
  type TransitionInput,
  type WorkerState,
} from './transition.ts';

const base: TransitionInput = {
  worker: { state: 'new' },
  desired: aPod(),
  isRecreated: false,
  lastPod: undefined,
  seen: undefined,
  isSeen: true,
  sourcesReady: true,
  isLeftOver: false,
  sameNamePod: undefined,
  refusal: undefined,
  endedForGood: false,
  kill: undefined,
};
const refusal = { reason: 'R', message: 'm' };
const down = anObservedPod({ sandboxes: [aSandbox({ ready: false })], containers: [exited(0)] });
const running = anObservedPod();
const kill: PodKill = { reason: 'Evicted', message: 'no room', graceSeconds: 3 };
const ofApi = (over: PodOver = {}, graceSeconds?: number): Pod => {
  const pod = aPod(over);
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      deletionTimestamp: '2026-11-15T00:00:00Z',
      ...(graceSeconds === undefined ? {} : { deletionGracePeriodSeconds: graceSeconds }),
    },
  };
};
const withPhase = (phase: string): Pod => ({ ...aPod(), status: { phase } });
const ending = (
  state: 'terminating' | 'terminated' | 'finished',
  over: Partial<Ending> = {},
): WorkerState => ({
  state,
  removal: false,
  graceSeconds: 30,
  kill: undefined,
  why: 'w',
  ...over,
});
const rejected: WorkerState = { state: 'rejected', ...refusal, final: false };
const notAdmitted: WorkerState = { ...rejected, final: true };
const syncing: WorkerState = { state: 'syncing' };
const removing = ending('terminating', { removal: true });

/** `state (what is special about it) → step`. */
function text(input: Partial<TransitionInput>): string {
  const { next, step } = computeTransition({ ...base, ...input });
  const parts: string[] = [next.state];
  if ('removal' in next) {
    if (next.removal) parts.push('removal');
    parts.push(`${next.graceSeconds ?? '?'} s`);
    if (next.kill !== undefined) parts.push(next.kill.reason);
    parts.push(`"${next.why}"`);
  }
  if (next.state === 'rejected') parts.push(next.reason, ...(next.final ? ['final'] : []));
  return `${parts.join(' ')} → ${step.step}${step.step === 'wait' ? `: ${step.explain}` : ''}`;
}

const cases: readonly (readonly [string, Partial<TransitionInput>, string])[] = [
  // a pod that is new
  ['new', {}, 'syncing → sync'],
  [
    'new, runtime not seen',
    { isSeen: false },
    'new → wait: waiting for the container runtime to say what runs',
  ],
  ['new, refused', { refusal }, 'rejected R → reject'],
  [
    'new, sameNamePod',
    { sameNamePod: 'u0' },
    'new → wait: waiting for the earlier pod of this name to end (u0)',
  ],
  [
    'found again, done already',
    { seen: down, endedForGood: true },
    'terminated 30 s "all containers have ended for good" → clean',
  ],
  [
    'found again, all ended, sandbox up',
    { seen: anObservedPod({ containers: [exited(0)] }), endedForGood: true },
    'terminating 30 s "all containers have ended for good" → stop',
  ],
  ['deleted before it was admitted', { desired: ofApi() }, 'terminated 30 s "the pod was deleted" → clean'],
  [
    'deleted before it was admitted, refused as well',
    { desired: ofApi(), refusal },
    'terminated 30 s "the pod was deleted" → clean',
  ],
  [
    'deleted while this kubelet was away',
    { desired: ofApi({}, 7), seen: running },
    'terminating 7 s "the pod was deleted" → stop',
  ],
  ['killed before it started', { kill }, 'terminated 3 s Evicted "Evicted: no room" → clean'],
  [
    'over already, says the API',
    { desired: withPhase('Succeeded') },
    `terminated 30 s "the pod's phase is Succeeded already" → clean`,
  ],
  [
    'failed already, says the API, and runs',
    { desired: withPhase('Failed'), seen: running },
    `terminating 30 s "the pod's phase is Failed already" → stop`,
  ],
  ['running, says the API', { desired: withPhase('Running') }, 'syncing → sync'],
  // orphans
  ['unknown, nothing on the runtime', { desired: undefined }, 'new → forget'],
  [
    'unknown, a source is silent',
    { desired: undefined, seen: running, sourcesReady: false },
    'new → wait: waiting for every pod source to report',
  ],
  [
    'unknown, every source has spoken',
    { desired: undefined, seen: running },
    'terminating removal ? s "no source wants this pod any more" → stop',
  ],
  [
    'unknown and down',
    { desired: undefined, seen: down },
    'terminated removal ? s "no source wants this pod any more" → remove',
  ],
  [
    'unknown, runtime not seen in this life',
    { desired: undefined, seen: running, isSeen: false },
    'new → wait: waiting for the container runtime to say what runs',
  ],
  // syncing
  ['syncing, wanted', { worker: syncing, seen: running }, 'syncing → sync'],
  [
    'syncing, removed and added again',
    { worker: syncing, seen: running, isRecreated: true },
    'terminating removal 30 s "the pod was removed from its source and added again" → stop',
  ],
  [
    'removed and added again, down: its containers stay',
    { worker: removing, seen: down, isRecreated: true },
    'terminated removal 30 s "w" → restart',
  ],
  [
    'added again, but its policy keeps it down: it starts from nothing',
    { worker: removing, seen: down, endedForGood: true },
    'terminated removal 30 s "w" → remove',
  ],
  [
    'added again after it was killed: it starts from nothing',
    { worker: ending('terminating', { removal: true, kill }), seen: down },
    'terminated removal 3 s Evicted "w" → remove',
  ],
  [
    'finished, removed and added again',
    { worker: ending('finished'), seen: down, isRecreated: true, endedForGood: true },
    'terminated removal 30 s "w" → remove',
  ],
  [
    'rejected, removed and added again',
    { worker: notAdmitted, isRecreated: true },
    'terminated removal 30 s "the pod was removed from its source and added again" → remove',
  ],
  ['syncing goes on even with a sameNamePod', { worker: syncing, sameNamePod: 'u0' }, 'syncing → sync'],
  [
    'syncing, lost its source',
    {
      worker: syncing,
      desired: undefined,
      lastPod: aPod({ terminationGracePeriodSeconds: 9 }),
      seen: running,
    },
    'terminating removal 9 s "the pod was removed from its source" → stop',
  ],
  [
    'syncing, lost its source before anything was made',
    { worker: syncing, desired: undefined, lastPod: aPod() },
    'terminated removal 30 s "the pod was removed from its source" → remove',
  ],
  [
    'syncing, all ended for good',
    { worker: syncing, seen: anObservedPod({ containers: [exited(0)] }), endedForGood: true },
    'terminating 30 s "all containers have ended for good" → stop',
  ],
  ['syncing, edited into something refused', { worker: syncing, refusal }, 'rejected R → reject'],
  [
    'syncing, deleted',
    { worker: syncing, desired: ofApi({}, 12), seen: running },
    'terminating 12 s "the pod was deleted" → stop',
  ],
  [
    'syncing, killed',
    { worker: syncing, kill, seen: running },
    'terminating 3 s Evicted "Evicted: no room" → stop',
  ],
  [
    'syncing, killed with its own grace period',
    { worker: syncing, kill: { reason: 'P', message: 'p' }, seen: running },
    'terminating 30 s P "P: p" → stop',
  ],
  [
    'syncing, deleted and killed',
    { worker: syncing, desired: ofApi({}, 12), kill, seen: running },
    'terminating 3 s Evicted "the pod was deleted" → stop',
  ],
  // rejected
  ['rejected, still refused', { worker: rejected, refusal }, 'rejected R → rest'],
  [
    'rejected, but something of it still runs',
    { worker: rejected, refusal, seen: running },
    'rejected R → reject',
  ],
  [
    'rejected, gone, but something of it still runs',
    { worker: rejected, desired: undefined, seen: running },
    'terminating removal ? s "the pod was removed from its source" → stop',
  ],
  ['rejected, mended', { worker: rejected }, 'syncing → sync'],
  [
    'rejected, gone',
    { worker: rejected, desired: undefined },
    'terminated removal ? s "the pod was removed from its source" → remove',
  ],
  [
    'rejected, deleted',
    { worker: rejected, desired: ofApi(), refusal },
    'terminated 30 s "the pod was deleted" → clean',
  ],
  ['not admitted: stays so', { worker: notAdmitted }, 'rejected R final → rest'],
  [
    'not admitted, but something of it still runs',
    { worker: notAdmitted, seen: running },
    'rejected R final → reject',
  ],
  // terminating
  ['ending, still up', { worker: ending('terminating'), seen: running }, 'terminating 30 s "w" → stop'],
  [
    'ending, the grace period got shorter',
    { worker: ending('terminating'), desired: ofApi({}, 5), seen: running },
    'terminating 5 s "w" → stop',
  ],
  [
    'ending, a longer grace period is no news',
    { worker: ending('terminating', { graceSeconds: 4 }), desired: ofApi({}, 50), seen: running },
    'terminating 4 s "w" → stop',
  ],
  [
    'ending, killed meanwhile',
    { worker: ending('terminating'), kill, seen: running },
    'terminating 3 s Evicted "w" → stop',
  ],
  [
    'ending by a kill, another one comes',
    { worker: ending('terminating', { kill }), kill: { reason: 'Other', message: '' }, seen: running },
    'terminating 3 s Evicted "w" → stop',
  ],
  [
    'ending, comes to nothing: the runtime is not seen',
    { worker: ending('terminating'), isSeen: false },
    'terminating 30 s "w" → wait: waiting for the container runtime to say what runs',
  ],
  [
    'removed, still up',
    { worker: removing, desired: undefined, seen: running },
    'terminating removal 30 s "w" → stop',
  ],
  [
    'removed and down',
    { worker: removing, desired: undefined, seen: down },
    'terminated removal 30 s "w" → remove',
  ],
  [
    'removed and nothing left',
    { worker: removing, desired: undefined },
    'terminated removal 30 s "w" → remove',
  ],
  [
    'removed, its UID comes back, still up',
    { worker: removing, seen: running },
    'terminating removal 30 s "w" → stop',
  ],
  [
    'removed, its UID comes back, down',
    { worker: removing, seen: down },
    'terminated removal 30 s "w" → restart',
  ],
  ['ending, down', { worker: ending('terminating'), seen: down }, 'terminated 30 s "w" → clean'],
  [
    'ending, loses its source, down',
    { worker: ending('terminating'), desired: undefined, seen: down },
    'terminated removal 30 s "w" → remove',
  ],
  // terminated, finished
  ['ended, not yet clean', { worker: ending('terminated'), seen: down }, 'terminated 30 s "w" → clean'],
  [
    'ended, not yet clean, loses its source',
    { worker: ending('terminated'), desired: undefined, seen: down },
    'terminated removal 30 s "w" → remove',
  ],
  [
    'ended, something came up again',
    { worker: ending('terminated'), seen: running },
    'terminating 30 s "w" → stop',
  ],
  ['finished, wanted', { worker: ending('finished'), seen: down }, 'finished 30 s "w" → rest'],
  [
    'finished, deleted: its object still there',
    { worker: ending('finished'), desired: ofApi({}, 30), seen: down },
    'finished 30 s "w" → rest',
  ],
  [
    'finished, a kill comes too late',
    { worker: ending('finished'), kill, seen: down },
    'finished 30 s "w" → rest',
  ],
  [
    'finished by a kill keeps its reason',
    { worker: ending('finished', { kill }), seen: down },
    'finished 3 s Evicted "w" → rest',
  ],
  [
    'finished, gone',
    { worker: ending('finished'), desired: undefined, seen: down },
    'terminated removal 30 s "w" → remove',
  ],
  [
    'finished, something came up again',
    { worker: ending('finished'), seen: running },
    'terminating 30 s "w" → stop',
  ],
];

for (const [name, over, want] of cases) {
  test(`computeTransition: ${name} → ${want}`, () => expect(text(over)).toBe(want));
}

const graces: readonly (readonly [string, Parameters<typeof computeGraceSeconds>, number | undefined])[] = [
  ["the pod's own", [undefined, aPod({ terminationGracePeriodSeconds: 9 }), undefined], 9],
  ["the deletion's, even if longer", [undefined, ofApi({}, 90), undefined], 90],
  ["the kill's", [undefined, aPod(), kill], 3],
  ['the shorter of deletion and kill', [undefined, ofApi({}, 2), kill], 2],
  ['never longer than before', [4, ofApi({}, 90), undefined], 4],
  ['before it had one, nothing asked for', [4, aPod(), undefined], 4],
  ['at least one second', [undefined, aPod({ terminationGracePeriodSeconds: 0 }), undefined], 1],
  ['a kill at once is one second', [30, aPod(), { ...kill, graceSeconds: 0 }], 1],
  ['nobody knows', [undefined, undefined, undefined], undefined],
];
for (const [name, args, want] of graces) {
  test(`computeGraceSeconds: ${name}`, () => expect(computeGraceSeconds(...args)).toBe(want));
}

test('no way leads back from the end', () => {
  const states: readonly WorkerState[] = [
    ending('terminating'),
    ending('terminated'),
    ending('finished'),
    removing,
  ];
  const desireds = [undefined, aPod(), ofApi(), withPhase('Running')];
  for (const worker of states) {
    for (const desired of desireds) {
      for (const seen of [undefined, down, running]) {
        for (const over of [
          {},
          { kill },
          { refusal },
          { endedForGood: true },
          { isSeen: false },
          { sameNamePod: 'u' },
        ]) {
          const { next, step } = computeTransition({ ...base, worker, desired, seen, ...over });
          expect(['terminating', 'terminated', 'finished']).toContain(next.state);
          expect(['sync', 'reject']).not.toContain(step.step);
        }
      }
    }
  }
});
