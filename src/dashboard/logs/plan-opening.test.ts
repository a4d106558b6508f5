import { expect, test } from 'vitest';
import { type ContainerInstance, planOpening } from './plan-opening.ts';

const seen = { name: 'c', state: 'running', current: '2', previous: '1', isFinal: false };
const follow = { follow: true, previous: false };
const once = { follow: false, previous: false };
const previous = { follow: true, previous: true };

const cases: readonly (readonly [
  name: string,
  seen: ContainerInstance | undefined,
  options: typeof follow,
  own: string | undefined,
  finished: string | undefined,
  want: object,
])[] = [
  ['a pod that is gone', undefined, follow, '2', undefined, { do: 'end' }],
  [
    'a container that has not run',
    { ...seen, current: undefined },
    follow,
    undefined,
    undefined,
    { do: 'wait', problem: 'running' },
  ],
  ['no previous instance', { ...seen, previous: undefined }, previous, undefined, undefined, { do: 'wait' }],
  [
    'the first time',
    seen,
    follow,
    undefined,
    undefined,
    { id: '2', from: 'follow', resumes: false, isGap: false },
  ],
  ['without following', seen, once, undefined, undefined, { id: '2', from: 'whole' }],
  ['again', seen, follow, '2', undefined, { id: '2', from: 'follow', resumes: true }],
  [
    'the previous instance',
    seen,
    previous,
    undefined,
    undefined,
    { id: '1', from: 'previous', resumes: false },
  ],
  ['the end of the previous instance', seen, previous, '1', '1', { do: 'end' }],
  [
    'a restart while no viewer was connected',
    seen,
    follow,
    '1',
    undefined,
    { id: '1', from: 'previous', resumes: true },
  ],
  [
    'a restart after its log was read',
    seen,
    follow,
    '1',
    '1',
    { id: '2', from: 'follow', resumes: false, isGap: false },
  ],
  [
    'two restarts while no viewer was connected',
    seen,
    follow,
    '0',
    undefined,
    { id: '2', resumes: false, isGap: true },
  ],
  ['an exit: it may restart', seen, follow, '2', '2', { do: 'wait' }],
  ['an exit for good', { ...seen, isFinal: true }, follow, '2', '2', { do: 'end' }],
  ['the end without following', seen, once, '2', '2', { do: 'end' }],
];
for (const [name, instance, options, own, finished, want] of cases) {
  test(`planOpening: ${name}`, () => {
    expect(planOpening(instance, options, own, finished)).toMatchObject(want);
  });
}
