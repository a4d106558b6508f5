import { expect, test } from 'vitest';
import { anObservedPod, aPod, aSandbox, exited } from '../testing/builders.ts';
import { computeStep, type Step, type StepInput } from './compute-step.ts';

const base: StepInput = {
  worker: { state: 'new' },
  desired: aPod(),
  seen: undefined,
  isSeen: true,
  sourcesReady: true,
  rival: undefined,
  refusal: undefined,
  endedForGood: false,
};
const refusal = { reason: 'R', message: 'm' };
const down = anObservedPod({ sandboxes: [aSandbox({ ready: false })], containers: [exited(0)] });
const running = anObservedPod();
const wait = (explain: string): Step => ({ step: 'wait', explain });
const removing = { state: 'terminating', removal: true } as const;
const ending = { state: 'terminating', removal: false } as const;

const cases: readonly (readonly [string, Partial<StepInput>, Step])[] = [
  ['new pod → sync', {}, { step: 'sync' }],
  [
    'new pod, runtime not seen → wait',
    { isSeen: false },
    wait('waiting for the container runtime to say what runs'),
  ],
  ['new pod, refused → reject', { refusal }, { step: 'reject', ...refusal }],
  ['new pod, rival → wait', { rival: 'u0' }, wait('waiting for the earlier pod of this name to end (u0)')],
  [
    'found again after a restart, done already → end',
    { seen: down, endedForGood: true },
    { step: 'terminate', removal: false, why: 'all containers have ended for good' },
  ],
  ['unknown, nothing on the runtime → forget', { desired: undefined }, { step: 'forget' }],
  [
    'unknown, a source is silent → wait',
    { desired: undefined, seen: running, sourcesReady: false },
    wait('waiting for every pod source to report'),
  ],
  [
    'unknown, every source has spoken → end and remove',
    { desired: undefined, seen: running },
    { step: 'terminate', removal: true, why: 'no source wants this pod any more' },
  ],
  [
    'unknown but runtime not seen in this life → wait',
    { desired: undefined, seen: running, isSeen: false },
    wait('waiting for the container runtime to say what runs'),
  ],
  ['syncing, wanted → sync', { worker: { state: 'syncing' }, seen: running }, { step: 'sync' }],
  ['syncing goes on even with a rival', { worker: { state: 'syncing' }, rival: 'u0' }, { step: 'sync' }],
  [
    'syncing, lost its source → end and remove',
    { worker: { state: 'syncing' }, desired: undefined, seen: running },
    { step: 'terminate', removal: true, why: 'the pod was removed from its source' },
  ],
  [
    'syncing, all ended for good → end, keep',
    { worker: { state: 'syncing' }, seen: down, endedForGood: true },
    { step: 'terminate', removal: false, why: 'all containers have ended for good' },
  ],
  [
    'syncing, edited into something refused → reject',
    { worker: { state: 'syncing' }, refusal },
    { step: 'reject', ...refusal },
  ],
  ['rejected, still refused → rest', { worker: { state: 'rejected' }, refusal }, { step: 'rest' }],
  [
    'rejected, but something of it still runs → again',
    { worker: { state: 'rejected' }, refusal, seen: running },
    { step: 'reject', ...refusal },
  ],
  [
    'rejected, gone, but something of it still runs → end it first',
    { worker: { state: 'rejected' }, desired: undefined, seen: running },
    { step: 'terminate', removal: true, why: 'the pod is ending' },
  ],
  ['rejected, mended → sync', { worker: { state: 'rejected' } }, { step: 'sync' }],
  ['rejected, gone → remove', { worker: { state: 'rejected' }, desired: undefined }, { step: 'remove' }],
  [
    'terminating, still up → go on',
    { worker: removing, desired: undefined, seen: running },
    { step: 'terminate', removal: true, why: 'the pod is ending' },
  ],
  ['removed and down → remove', { worker: removing, desired: undefined, seen: down }, { step: 'remove' }],
  ['removed and nothing left → remove', { worker: removing, desired: undefined }, { step: 'remove' }],
  [
    'removed, comes back meanwhile, still up → end it first',
    { worker: removing, seen: running },
    { step: 'terminate', removal: true, why: 'the pod is ending' },
  ],
  [
    'removed, comes back, down → remove before it starts anew',
    { worker: removing, seen: down },
    { step: 'remove' },
  ],
  ['done and down → finish', { worker: ending, seen: down }, { step: 'finish' }],
  [
    'done, loses its source while ending → remove',
    { worker: ending, desired: undefined, seen: down },
    { step: 'remove' },
  ],
  ['finished, wanted → rest', { worker: { state: 'terminated' }, seen: down }, { step: 'rest' }],
  [
    'finished, gone → remove',
    { worker: { state: 'terminated' }, desired: undefined, seen: down },
    { step: 'remove' },
  ],
];

for (const [name, over, want] of cases) {
  test(`computeStep: ${name}`, () => expect(computeStep({ ...base, ...over })).toEqual(want));
}
