// The state that a recorded pod must reach on a real containerd. Not compared: restarts beyond the recording, and the
// state of earlier containers, since they depend on timing.
import { expect } from 'vitest';
import type { ContainerStatus, PodStatus } from '../../src/api/k8s/types.ts';
import { recordedStates } from '../../test/replay/compare.ts';
import type { Recording } from '../../test/replay/recording.ts';

/** Recordings that need objects of a cluster or its admission. */
export const needsCluster: ReadonlySet<string> = new Set([
  'env',
  'env-missing',
  'oom',
  'pod-level-resize',
  'too-big',
  'volume-missing',
  'volumes',
]);
/** Events whose messages depend on the version of the runtime, on a program, or on the size of the machine. */
const variableMessages = /^Warning (Failed|Unhealthy|OutOfcpu) /;
/** Events that depend on timing and on the load of the machine. */
const timingDependent = /^(Normal (Killing|BackOff)|Warning (BackOff|Failed|Unhealthy)) /;
const warning = /^Warning /;

/** The last recorded status of this generation of the pod; of a crash loop, the last one that shows its back-off. */
export function wantedState(recording: Recording, generation = 1): PodStatus {
  const states = recordedStates(recording);
  const before = states.filter(({ observedGeneration }) => observedGeneration === generation);
  const want = before.findLast(isBackingOff) ?? before.at(-1);
  if (want === undefined) throw new Error(`${recording.name} has no status of generation ${generation}`);
  return want;
}

function isBackingOff(status: PodStatus): boolean {
  return all(status).some(({ state }) => state?.waiting?.reason === 'CrashLoopBackOff');
}

export function hasReached(status: PodStatus, want: PodStatus): boolean {
  const counts = (one: PodStatus): number[] => all(one).map(({ restartCount }) => restartCount);
  const wanted = counts(want);
  return (
    JSON.stringify(stateOf(status)) === JSON.stringify(stateOf(want)) &&
    counts(status).every((count, index) => count >= (wanted[index] ?? 0))
  );
}

function all({ initContainerStatuses = [], containerStatuses = [] }: PodStatus): readonly ContainerStatus[] {
  return [...initContainerStatuses, ...containerStatuses];
}

/** The part of a status that depends neither on time nor on names and messages of the runtime. */
export function stateOf(status: PodStatus): unknown {
  return {
    phase: status.phase,
    reason: status.reason,
    hasAddress: status.podIP !== undefined,
    conditions: (status.conditions ?? []).map((each) => [each.type, each.status, each.reason, each.message]),
    containers: all(status).map(({ name, state, ready, started }) => [
      name,
      state?.running === undefined ? [] : ['running'],
      state?.waiting?.reason,
      state?.terminated?.exitCode,
      state?.terminated?.reason,
      ready,
      started,
    ]),
  };
}

export function comparable(event: string): string {
  return variableMessages.test(event) ? event.split(' ').slice(0, 3).join(' ') : event;
}

export function expectEvents({ name, events }: Recording, emitted: readonly string[]): void {
  const recorded = new Set(events.map(comparable));
  const missing = [...recorded].filter(
    (event) => !emitted.includes(event) && !timingDependent.test(`${event} `),
  );
  const extra = emitted.filter(
    (event) => !recorded.has(event) && !timingDependent.test(`${event} `) && !warning.test(event),
  );
  expect({ name, missing, extra }, emitted.join('\n')).toEqual({ name, missing: [], extra: [] });
}
