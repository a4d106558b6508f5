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
  tooEarly: 0,
  soonMs: 100,
  onHold: false,
  started: true,
};
const slow = { initialDelayMs: 15_000, periodMs: 10_000 };
const short = { initialDelayMs: 5_000, periodMs: 10_000 };

const cases: readonly (readonly [string, Partial<DueInput>, number | undefined])[] = [
  ['readiness is asked for at once', {}, 1_200],
  ['readiness waits for the initial delay', { timing: slow }, 16_000],
  ['liveness leaves a new container a period', { kind: 'liveness' }, 11_000],
  ['liveness with a delay below the period', { kind: 'liveness', timing: short }, 11_000],
  ['liveness with a delay above it', { kind: 'liveness', timing: slow }, 16_000],
  ['startup leaves a new container a period', { kind: 'startup', started: false }, 11_000],
  ['found running: within the spread', { kind: 'liveness', seenAtMs: 90_000, spreadMs: 700 }, 90_700],
  ['found running, but still delayed', { timing: slow, seenAtMs: 2_000, spreadMs: 700 }, 16_000],
  ['again after a period', { lastRunAtMs: 50_000 }, 60_000],
  ['too early', { firstRunAtMs: 1_200, lastRunAtMs: 1_200, tooEarly: 1 }, 1_300],
  ['too early again', { firstRunAtMs: 1_200, lastRunAtMs: 1_900, tooEarly: 4 }, 2_700],
  ['too early for long', { firstRunAtMs: 1_200, lastRunAtMs: 7_500, tooEarly: 7 }, 11_200],
  ['no longer early', { firstRunAtMs: 1_200, lastRunAtMs: 11_200, tooEarly: 7 }, 21_200],
  ['on hold', { onHold: true, lastRunAtMs: 50_000 }, undefined],
  ['not started: readiness waits', { started: false }, undefined],
  ['not started: liveness waits', { kind: 'liveness', started: false, lastRunAtMs: 5 }, undefined],
];
for (const [name, over, want] of cases) {
  test(`computeDue: ${name}`, () => expect(computeDue({ ...base, ...over })).toBe(want));
}
