import { expect, test } from 'vitest';
import type { PodStatus } from '../api/k8s/types.ts';
import { shownStatus } from './shown-status.ts';

const ready = { type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' } as const;
const scheduled = { type: 'PodScheduled', status: 'True' } as const;
const unverified = {
  ...ready,
  status: 'False',
  reason: 'ContainersNotReady',
  message: 'Kubelet is initializing pod containers',
};

const cases: readonly (readonly [string, PodStatus | undefined, PodStatus | undefined, object])[] = [
  [
    'the computed status wins',
    { phase: 'Failed' },
    { phase: 'Running', conditions: [ready] },
    { phase: 'Running', conditions: [ready] },
  ],
  ['no status at all is Pending', undefined, undefined, { phase: 'Pending' }],
  ['a reported phase stays', { phase: 'Running' }, undefined, { phase: 'Running' }],
  [
    'a reported Ready=True is shown as False',
    { phase: 'Running', conditions: [scheduled, ready] },
    undefined,
    { phase: 'Running', conditions: [scheduled, unverified] },
  ],
  [
    'a reported Ready=False keeps its reason',
    { conditions: [{ type: 'Ready', status: 'False', reason: 'PodCompleted' }] },
    undefined,
    { phase: 'Pending', conditions: [{ type: 'Ready', status: 'False', reason: 'PodCompleted' }] },
  ],
];

test.each(cases)('%s', (_, reported, computed, want) => {
  expect(shownStatus(reported, computed)).toEqual(want);
});
