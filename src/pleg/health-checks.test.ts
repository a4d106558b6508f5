import { expect, test } from 'vitest';
import { healthChecks } from './health-checks.ts';
import type { RuntimeHealth } from './pleg.ts';

const healthy: RuntimeHealth = {
  everAnswered: true,
  failure: undefined,
  failingSinceMs: undefined,
  lastAttemptAtMs: 100_000,
  lastRelistAtMs: 100_000,
};
const cases: readonly (readonly [string, Partial<RuntimeHealth>, number, readonly (string | undefined)[]])[] =
  [
    ['healthy', {}, 100_500, [undefined, undefined, undefined]],
    [
      'not started',
      { everAnswered: false, lastAttemptAtMs: undefined, lastRelistAtMs: undefined },
      0,
      ['the sync loop has not started', undefined, 'the container runtime has not answered yet'],
    ],
    [
      'runtime unavailable, relists attempted',
      { failure: 'connection refused' },
      100_500,
      [undefined, undefined, 'the container runtime is unavailable: connection refused'],
    ],
    ['no attempt for as long as two relists may take', {}, 142_000, [undefined, undefined, undefined]],
    ['no attempt for longer', {}, 142_001, ['the sync loop has not run for 42 s', undefined, undefined]],
    [
      'relists attempted, but none successful for three minutes',
      { lastAttemptAtMs: 281_000 },
      280_001,
      [undefined, 'pleg was last seen active 180 s ago; threshold is 3m0s', undefined],
    ],
  ];

for (const [name, over, nowMs, want] of cases) {
  test(`health checks: ${name}`, () => {
    const checks = healthChecks({
      pleg: { health: () => ({ ...healthy, ...over }) },
      clock: { monotonic: () => nowMs },
      relistMs: 1_000,
      callTimeoutMs: 20_000,
    });
    expect(checks.map((each) => each.name)).toEqual(['syncloop', 'pleg', 'runtime']);
    expect(checks.map((each) => each.check())).toEqual(want);
  });
}
