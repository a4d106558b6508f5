// Compares a run of our kubelet with a recording. Not compared: times, the interleaving of two containers' events, a
// status that only one of the two kubelets observed in time, the number of retries of a failing call, and the second
// stop of a sandbox, before its removal.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { PodStatus } from '../../src/api/k8s/types.ts';
import {
  accumulate,
  type Expectation,
  expectedStatus,
  type Scenario,
} from '../../src/status/fixtures/scenario.ts';
import { type Recording, wholeCall } from './recording.ts';
import type { Outcome } from './run.ts';
import { statusLines } from './status-lines.ts';

const scenarios = join(import.meta.dirname, '..', '..', 'src', 'status', 'fixtures');

/** The recorded statuses, as the API server had them. */
export function recordedStates(recording: Recording): readonly PodStatus[] {
  const scenario = JSON.parse(readFileSync(join(scenarios, `${recording.name}.json`), 'utf8')) as Scenario;
  let wanted: Expectation = {};
  return scenario.steps.map((step) => {
    wanted = accumulate(wanted, step.expect);
    return expectedStatus(scenario, step, wanted);
  });
}

/** The recorded statuses as lines. */
export function recordedStatuses(recording: Recording): readonly string[] {
  return withoutRepetition(recordedStates(recording).map((status) => statusLines(status, (id) => id)));
}

function withoutRepetition(list: readonly string[]): readonly string[] {
  return list.filter((each, index) => each !== list[index - 1]);
}

/** Events by their object, each list in order. */
export function byObject(events: readonly string[]): Readonly<Record<string, readonly string[]>> {
  const groups: Record<string, string[]> = {};
  for (const event of events) {
    const fieldPath = event.split(' ')[2] ?? '';
    groups[fieldPath] ??= [];
    groups[fieldPath].push(event);
  }
  return groups;
}

export function recordedCalls(recording: Recording): readonly unknown[] {
  return once(recording.calls.map((call) => wholeCall(recording, call)));
}

export function actualCalls({ calls }: Outcome): readonly unknown[] {
  return once(calls);
}

/** Without calls that are equal to the previous one. Containers are stopped in parallel, so in any order. */
function once(calls: readonly (readonly unknown[])[]): readonly unknown[] {
  const single = calls.filter((call, index) => !isDeepStrictEqual(call, calls[index - 1]));
  const groups: (readonly unknown[])[][] = [];
  for (const call of single) {
    const last = groups.at(-1);
    if (call[0] === 'StopContainer' && last?.at(-1)?.[0] === 'StopContainer') last.push(call);
    else groups.push([call]);
  }
  return groups.flatMap((group) => group.toSorted((a, b) => (String(a[1]) < String(b[1]) ? -1 : 1)));
}

/** The recorded statuses that ours lack, in order. */
export function missingStatuses(recorded: readonly string[], ours: readonly string[]): readonly string[] {
  let from = 0;
  return recorded.filter((status) => {
    const at = ours.indexOf(status, from);
    if (at >= 0) from = at + 1;
    return at < 0;
  });
}

/** Lines of our statuses that no recorded status has, in any generation. */
export function unexpectedLines(recorded: readonly string[], ours: readonly string[]): readonly string[] {
  const linesOf = (statuses: readonly string[]): readonly string[] =>
    statuses.flatMap((status) => status.replace(/, generation \d+/, '').split('\n'));
  const known = new Set(linesOf(recorded));
  const lines = linesOf(ours);
  return [...new Set(lines.filter((line) => !known.has(line)))];
}
