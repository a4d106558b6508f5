import { expect, test } from 'vitest';
import type { PodCondition, PodStatus } from '../api/k8s/types.ts';
import { startFromReported, withReportedTimes } from './reported-times.ts';

const condition = (type: string, status: string, lastTransitionTime: string): PodCondition => ({
  type,
  status,
  lastTransitionTime,
});
const reported: PodStatus = {
  phase: 'Failed',
  reason: 'OutOfcpu',
  startTime: 'start',
  conditions: [
    condition('Ready', 'True', 'old'),
    condition('Initialized', 'False', 'old'),
    condition('example.com/gate', 'True', 'old'),
  ],
  containerStatuses: [],
};

test('bases the first status of a process on the reported times, not on the reported phase', () => {
  expect(startFromReported({ phase: 'Pending' }, reported)).toEqual({
    phase: 'Pending',
    startTime: 'start',
    conditions: [condition('Ready', 'True', 'old'), condition('Initialized', 'False', 'old')],
  });
  expect(startFromReported({ phase: 'Pending' }, { phase: 'Pending' })).toEqual({ phase: 'Pending' });
});

test('keeps the transition time of a condition that changed since it was reported', () => {
  const status: PodStatus = {
    phase: 'Running',
    startTime: 'later',
    conditions: [condition('Ready', 'True', 'new'), condition('Initialized', 'True', 'new')],
  };
  expect(withReportedTimes(status, reported)).toEqual({
    phase: 'Running',
    startTime: 'start',
    conditions: [condition('Ready', 'True', 'old'), condition('Initialized', 'True', 'new')],
  });
});
