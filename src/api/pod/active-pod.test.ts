import { describe, expect, test } from 'vitest';
import { hasEnded, isActivePod, isTerminalPhase } from './active-pod.ts';
import type { PodLifecycle } from './pod-lifecycle.ts';

type State = PodLifecycle['state'] | undefined;
const phases = [undefined, 'Pending', 'Running', 'Unknown', 'Succeeded', 'Failed'] as const;

const cases: readonly (readonly [State, { ended: boolean; active: readonly (string | undefined)[] }])[] = [
  [undefined, { ended: false, active: [undefined, 'Pending', 'Running', 'Unknown'] }],
  ['syncing', { ended: false, active: [undefined, 'Pending', 'Running', 'Unknown'] }],
  ['terminating', { ended: false, active: phases }],
  ['terminated', { ended: true, active: [] }],
  ['rejected', { ended: true, active: [] }],
];

for (const [state, want] of cases) {
  const lifecycle = state === undefined ? undefined : { state };
  describe(`a pod whose worker is ${state ?? 'not created yet'}`, () => {
    test(want.ended ? 'has ended' : 'has not ended', () => expect(hasEnded(lifecycle)).toBe(want.ended));

    test(`is active in the phases ${want.active.map(String).join(', ') || 'none'}`, () => {
      const active = phases.filter((phase) =>
        isActivePod(phase === undefined ? {} : { status: { phase } }, lifecycle),
      );
      expect(active).toEqual(want.active);
    });
  });
}

test('Succeeded and Failed are the terminal phases', () =>
  expect(phases.filter(isTerminalPhase)).toEqual(['Succeeded', 'Failed']));
