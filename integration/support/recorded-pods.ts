// What a recorded pod has to come to on a real containerd. What time decides is left open: how often a container was restarted
// beyond the recording, and what is left of earlier containers.
import { expect } from 'vitest';
import type { ContainerStatus, PodStatus } from '../../src/api/k8s/types.ts';
import { recordedStates } from '../../test/replay/compare.ts';
import type { Recording } from '../../test/replay/recording.ts';

/** What needs a cluster's objects or its rules of admission. */
export const needsCluster: ReadonlySet<string> = new Set([
  'env',
  'env-missing',
  'oom',
  'too-big',
  'volume-missing',
  'volumes',
]);
/** Their last state before the end lasted only as long as upstream took to look again: the one before it does. */
const passing: ReadonlySet<string> = new Set(['onfailure']);
/** Whose words are the runtime's or a program's own, and other ones in other versions, or have the machine's size in them. */
const foreignWords = /^Warning (Failed|Unhealthy|OutOfcpu) /;
/** Whether these are told, and of what else a busy machine warns, depends on the moment. */
const byMoment = /^(Normal (Killing|BackOff)|Warning (BackOff|Failed|Unhealthy)) /;
const warning = /^Warning /;

/** The recorded status before the pod was deleted. */
export function wantedState(recording: Recording): PodStatus {
  const states = recordedStates(recording);
  const before = states.filter(({ observedGeneration }) => observedGeneration === 1);
  const want = before.at(passing.has(recording.name) ? -2 : -1);
  if (want === undefined) throw new Error(`${recording.name} has no status before its deletion`);
  return want;
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

/** What does not depend on time, names or the runtime's words. */
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
  return foreignWords.test(event) ? event.split(' ').slice(0, 3).join(' ') : event;
}

export function expectEvents({ name, events }: Recording, told: readonly string[]): void {
  const recorded = new Set(events.map(comparable));
  const missing = [...recorded].filter((event) => !told.includes(event) && !byMoment.test(`${event} `));
  const extra = told.filter(
    (event) => !recorded.has(event) && !byMoment.test(`${event} `) && !warning.test(event),
  );
  expect({ name, missing, extra }, told.join('\n')).toEqual({ name, missing: [], extra: [] });
}
