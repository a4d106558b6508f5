import { expect, test } from 'vitest';
import { computeDue, type DueInput } from './probe-due.ts';

const base: DueInput = {
  kind: 'readiness',
  timing: { initialDelayMs: 0, periodMs: 10_000 },
  startedAtMs: 1_000,
  seenAtMs: 1_200,
  spreadMs: 0,
  firstRunAtMs: undefined,
  lastRunAtMs: undefined,
  earlyFailures: 0,
  retryMs: 100,
  onHold: false,
  started: true,
};
const slow = { initialDelayMs: 15_000, periodMs: 10_000 };
const short = { initialDelayMs: 5_000, periodMs: 10_000 };

const cases: readonly (readonly [string, Partial<DueInput>, number | undefined])[] = [
  ['readiness is probed at once', {}, 1_200],
  ['readiness waits for the initial delay', { timing: slow }, 16_000],
  ['liveness leaves a new container a period', { kind: 'liveness' }, 11_000],
  ['liveness with a delay below the period', { kind: 'liveness', timing: short }, 11_000],
  ['liveness with a delay above the period', { kind: 'liveness', timing: slow }, 16_000],
  ['startup leaves a new container a period', { kind: 'startup', started: false }, 11_000],
  [
    'a container older than the kubelet: within the spread',
    { kind: 'liveness', seenAtMs: 90_000, spreadMs: 700 },
    90_700,
  ],
  [
    'a container older than the kubelet: not before its initial delay',
    { timing: slow, seenAtMs: 2_000, spreadMs: 700 },
    16_000,
  ],
  ['a period after the last probe', { lastRunAtMs: 50_000 }, 60_000],
  ['after one early failure', { firstRunAtMs: 1_200, lastRunAtMs: 1_200, earlyFailures: 1 }, 1_300],
  ['after four early failures', { firstRunAtMs: 1_200, lastRunAtMs: 1_900, earlyFailures: 4 }, 2_700],
  [
    'after seven early failures: no later than a period after the first probe',
    { firstRunAtMs: 1_200, lastRunAtMs: 7_500, earlyFailures: 7 },
    11_200,
  ],
  [
    'after the first period, a period later',
    { firstRunAtMs: 1_200, lastRunAtMs: 11_200, earlyFailures: 7 },
    21_200,
  ],
  ['on hold: never', { onHold: true, lastRunAtMs: 50_000 }, undefined],
  ['not started: readiness waits', { started: false }, undefined],
  ['not started: liveness waits', { kind: 'liveness', started: false, lastRunAtMs: 5 }, undefined],
];
for (const [name, over, want] of cases) {
  test(`computeDue: ${name}`, () => expect(computeDue({ ...base, ...over })).toBe(want));
}
