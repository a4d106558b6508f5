import { expect, test } from 'vitest';
import { anObservedPod, aPod, aSandbox, exited, type PodOver } from '../../test/builders/builders.ts';
import type { Pod } from '../api/k8s/types.ts';
import type { PodKill } from '../api/ports/pod-kill.ts';
import {
  computeGraceSeconds,
  computeTransition,
  type Termination,
  type TransitionInput,
  type WorkerState,
} from './transition.ts';

const base: TransitionInput = {
  worker: { state: 'new' },
  desired: aPod(),
  isRecreated: false,
  lastPod: undefined,
  seen: undefined,
  isInspected: true,
  sourcesReady: true,
  isLeftover: false,
  sameNamePod: undefined,
  refusal: undefined,
  isTerminal: false,
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
const withState = (
  state: 'terminating' | 'terminated' | 'finished',
  over: Partial<Termination> = {},
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
const removing = withState('terminating', { removal: true });

/** The transition as text: `state details → step`. */
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
  // new
  ['new', {}, 'syncing → sync'],
  [
    'new, not inspected yet',
    { isInspected: false },
    'new → wait: waiting for the first inspection of the pod on the runtime',
  ],
  ['new, refused', { refusal }, 'rejected R → reject'],
  [
    'new, a pod of the same name is left',
    { sameNamePod: 'u0' },
    'new → wait: waiting for the earlier pod of the same name to terminate (u0)',
  ],
  [
    'found after a restart, terminal already',
    { seen: down, isTerminal: true },
    'terminated 30 s "all containers have terminated and none will be restarted" → clean',
  ],
  [
    'found after a restart, all containers exited, sandbox ready',
    { seen: anObservedPod({ containers: [exited(0)] }), isTerminal: true },
    'terminating 30 s "all containers have terminated and none will be restarted" → stop',
  ],
  ['deleted before admission', { desired: ofApi() }, 'terminated 30 s "the pod was deleted" → clean'],
  [
    'deleted before admission, and refused',
    { desired: ofApi(), refusal },
    'terminated 30 s "the pod was deleted" → clean',
  ],
  [
    'deleted while the kubelet was down',
    { desired: ofApi({}, 7), seen: running },
    'terminating 7 s "the pod was deleted" → stop',
  ],
  ['killed before it started', { kill }, 'terminated 3 s Evicted "Evicted: no room" → clean'],
  [
    'Succeeded already in the API',
    { desired: withPhase('Succeeded') },
    `terminated 30 s "the pod's phase is Succeeded already" → clean`,
  ],
  [
    'Failed already in the API, but running',
    { desired: withPhase('Failed'), seen: running },
    `terminating 30 s "the pod's phase is Failed already" → stop`,
  ],
  ['Running in the API', { desired: withPhase('Running') }, 'syncing → sync'],
  // orphans
  ['in no source, not on the runtime', { desired: undefined }, 'new → forget'],
  [
    'in no source, a source has not reported',
    { desired: undefined, seen: running, sourcesReady: false },
    'new → wait: waiting for every pod source to report',
  ],
  [
    'in no source, every source has reported',
    { desired: undefined, seen: running },
    'terminating removal ? s "no source has this pod any more" → stop',
  ],
  [
    'in no source, stopped',
    { desired: undefined, seen: down },
    'terminated removal ? s "no source has this pod any more" → remove',
  ],
  [
    'in no source, not inspected yet',
    { desired: undefined, seen: running, isInspected: false },
    'new → wait: waiting for the first inspection of the pod on the runtime',
  ],
  // syncing
  ['syncing, desired', { worker: syncing, seen: running }, 'syncing → sync'],
  [
    'syncing, removed and added again',
    { worker: syncing, seen: running, isRecreated: true },
    'terminating removal 30 s "the pod was removed from its source and added again" → stop',
  ],
  [
    'removed and added again, stopped: its containers stay',
    { worker: removing, seen: down, isRecreated: true },
    'terminated removal 30 s "w" → restart',
  ],
  [
    'added again, but terminal by its restart policy: starts from nothing',
    { worker: removing, seen: down, isTerminal: true },
    'terminated removal 30 s "w" → remove',
  ],
  [
    'added again after a kill: starts from nothing',
    { worker: withState('terminating', { removal: true, kill }), seen: down },
    'terminated removal 3 s Evicted "w" → remove',
  ],
  [
    'finished, removed and added again',
    { worker: withState('finished'), seen: down, isRecreated: true, isTerminal: true },
    'terminated removal 30 s "w" → remove',
  ],
  [
    'rejected, removed and added again',
    { worker: notAdmitted, isRecreated: true },
    'terminated removal 30 s "the pod was removed from its source and added again" → remove',
  ],
  [
    'syncing continues although a pod of the same name is left',
    { worker: syncing, sameNamePod: 'u0' },
    'syncing → sync',
  ],
  [
    'syncing, removed from its source',
    {
      worker: syncing,
      desired: undefined,
      lastPod: aPod({ terminationGracePeriodSeconds: 9 }),
      seen: running,
    },
    'terminating removal 9 s "the pod was removed from its source" → stop',
  ],
  [
    'syncing, removed from its source before anything was created',
    { worker: syncing, desired: undefined, lastPod: aPod() },
    'terminated removal 30 s "the pod was removed from its source" → remove',
  ],
  [
    'syncing, terminal',
    { worker: syncing, seen: anObservedPod({ containers: [exited(0)] }), isTerminal: true },
    'terminating 30 s "all containers have terminated and none will be restarted" → stop',
  ],
  ['syncing, edited so that it is refused', { worker: syncing, refusal }, 'rejected R → reject'],
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
    "syncing, killed with the pod's own grace period",
    { worker: syncing, kill: { reason: 'P', message: 'p' }, seen: running },
    'terminating 30 s P "P: p" → stop',
  ],
  [
    'syncing, deleted and killed',
    { worker: syncing, desired: ofApi({}, 12), kill, seen: running },
    'terminating 3 s Evicted "the pod was deleted" → stop',
  ],
  // rejected
  ['rejected, still refused', { worker: rejected, refusal }, 'rejected R → idle'],
  ['rejected, but still running', { worker: rejected, refusal, seen: running }, 'rejected R → reject'],
  [
    'rejected, removed from its source, but still running',
    { worker: rejected, desired: undefined, seen: running },
    'terminating removal ? s "the pod was removed from its source" → stop',
  ],
  ['rejected, manifest fixed', { worker: rejected }, 'syncing → sync'],
  [
    'rejected, removed from its source',
    { worker: rejected, desired: undefined },
    'terminated removal ? s "the pod was removed from its source" → remove',
  ],
  [
    'rejected, deleted',
    { worker: rejected, desired: ofApi(), refusal },
    'terminated 30 s "the pod was deleted" → clean',
  ],
  ['not admitted: stays rejected', { worker: notAdmitted }, 'rejected R final → idle'],
  ['not admitted, but still running', { worker: notAdmitted, seen: running }, 'rejected R final → reject'],
  // terminating
  [
    'terminating, still running',
    { worker: withState('terminating'), seen: running },
    'terminating 30 s "w" → stop',
  ],
  [
    'terminating, the grace period was shortened',
    { worker: withState('terminating'), desired: ofApi({}, 5), seen: running },
    'terminating 5 s "w" → stop',
  ],
  [
    'terminating, a longer grace period is ignored',
    { worker: withState('terminating', { graceSeconds: 4 }), desired: ofApi({}, 50), seen: running },
    'terminating 4 s "w" → stop',
  ],
  [
    'terminating, then killed',
    { worker: withState('terminating'), kill, seen: running },
    'terminating 3 s Evicted "w" → stop',
  ],
  [
    'terminating by a kill, then killed for another reason',
    { worker: withState('terminating', { kill }), kill: { reason: 'Other', message: '' }, seen: running },
    'terminating 3 s Evicted "w" → stop',
  ],
  [
    'terminating, not inspected',
    { worker: withState('terminating'), isInspected: false },
    'terminating 30 s "w" → wait: waiting for the first inspection of the pod on the runtime',
  ],
  [
    'removed, still running',
    { worker: removing, desired: undefined, seen: running },
    'terminating removal 30 s "w" → stop',
  ],
  [
    'removed and stopped',
    { worker: removing, desired: undefined, seen: down },
    'terminated removal 30 s "w" → remove',
  ],
  [
    'removed, nothing left on the runtime',
    { worker: removing, desired: undefined },
    'terminated removal 30 s "w" → remove',
  ],
  [
    'removed, its UID is added again, still running',
    { worker: removing, seen: running },
    'terminating removal 30 s "w" → stop',
  ],
  [
    'removed, its UID is added again, stopped',
    { worker: removing, seen: down },
    'terminated removal 30 s "w" → restart',
  ],
  ['terminating, stopped', { worker: withState('terminating'), seen: down }, 'terminated 30 s "w" → clean'],
  [
    'terminating, removed from its source, stopped',
    { worker: withState('terminating'), desired: undefined, seen: down },
    'terminated removal 30 s "w" → remove',
  ],
  // terminated, finished
  [
    'terminated, not released yet',
    { worker: withState('terminated'), seen: down },
    'terminated 30 s "w" → clean',
  ],
  [
    'terminated, not released yet, removed from its source',
    { worker: withState('terminated'), desired: undefined, seen: down },
    'terminated removal 30 s "w" → remove',
  ],
  [
    'terminated, a container runs again',
    { worker: withState('terminated'), seen: running },
    'terminating 30 s "w" → stop',
  ],
  ['finished, desired', { worker: withState('finished'), seen: down }, 'finished 30 s "w" → idle'],
  [
    'finished, deleted: its object still exists',
    { worker: withState('finished'), desired: ofApi({}, 30), seen: down },
    'finished 30 s "w" → idle',
  ],
  [
    'finished, a late kill is ignored',
    { worker: withState('finished'), kill, seen: down },
    'finished 30 s "w" → idle',
  ],
  [
    'finished by a kill: keeps its reason',
    { worker: withState('finished', { kill }), seen: down },
    'finished 3 s Evicted "w" → idle',
  ],
  [
    'finished, removed from its source',
    { worker: withState('finished'), desired: undefined, seen: down },
    'terminated removal 30 s "w" → remove',
  ],
  [
    'finished, a container runs again',
    { worker: withState('finished'), seen: running },
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
  ['never longer than the earlier one', [4, ofApi({}, 90), undefined], 4],
  ['the earlier one when nothing else is requested', [4, aPod(), undefined], 4],
  ['at least one second', [undefined, aPod({ terminationGracePeriodSeconds: 0 }), undefined], 1],
  ['a kill with zero is one second', [30, aPod(), { ...kill, graceSeconds: 0 }], 1],
  ['unknown without a spec', [undefined, undefined, undefined], undefined],
];
for (const [name, args, want] of graces) {
  test(`computeGraceSeconds: ${name}`, () => expect(computeGraceSeconds(...args)).toBe(want));
}

test('a pod never leaves termination', () => {
  const states: readonly WorkerState[] = [
    withState('terminating'),
    withState('terminated'),
    withState('finished'),
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
          { isTerminal: true },
          { isInspected: false },
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
