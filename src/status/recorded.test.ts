// Replays recordings of the Go kubelet: the same observations give the same statuses.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { PodStatus } from '../api/k8s/types.ts';
import type { ContainerId } from '../api/pod/pod-ref.ts';
import type { ResizeConditions } from '../api/ports/resize-conditions.ts';
import {
  accumulate,
  type Expectation,
  expectedStatus,
  type Scenario,
  type Step,
  scenarioLifecycle,
  scenarioObserved,
  scenarioPod,
  timeMs,
} from './fixtures/scenario.ts';
import { generatePodStatus, type StatusInput } from './generate-status.ts';
import { couldHaveRunningContainers, mergePodStatus } from './push/merge-status.ts';

/** Recorded statuses that are never ours, by their index. docs/parity.md lists them. */
const unreached: Readonly<Record<string, readonly number[]>> = {
  // Upstream reports that a sidecar has started before the readiness that follows from it.
  sidecar: [3],
  // Upstream drops the address of a pod with its sandbox.
  'start-error-always': [8, 9, 10],
};

const folder = join(import.meta.dirname, 'fixtures');
const scenarios: readonly Scenario[] = readdirSync(folder)
  .filter((file) => file.endsWith('.json'))
  .map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Scenario);

test('finds all recordings', () => expect(scenarios).toHaveLength(38));

const reached = scenarios.map((scenario) => ({ scenario, wanted: wantedStatuses(scenario) }));

/** The recorded status after each step that ours reaches. */
function wantedStatuses(scenario: Scenario): { step: Step; want: PodStatus }[] {
  let expected: Expectation = {};
  const all = scenario.steps.map((step) => {
    expected = accumulate(expected, step.expect);
    return { step, want: withoutPodResources(expectedStatus(scenario, step, expected)) };
  });
  return all.filter((_, index) => unreached[scenario.name]?.includes(index) !== true);
}

function inputOf(scenario: Scenario, step: Step, previous: PodStatus | undefined): StatusInput {
  const observed = scenarioObserved(scenario, step);
  const nameOf = (id: ContainerId): string => observed?.containers.find((each) => each.id === id)?.name ?? '';
  return {
    pod: scenarioPod(scenario, step),
    observed,
    lifecycle: scenarioLifecycle(scenario, step),
    previous,
    hostIPs: ['192.0.2.2'],
    nowMs: timeMs(step.now),
    runtimeName: 'containerd',
    resize: step.resizing === undefined ? undefined : { inProgress: resizing(step, step.resizing) },
    probes: {
      started: (id) => step.started?.includes(nameOf(id)) === true,
      ready: (id) => step.ready?.includes(nameOf(id)) === true,
    },
  };
}

function resizing({ generation }: Step, since: string): NonNullable<ResizeConditions['inProgress']> {
  const sinceMs = timeMs(since);
  return { reason: '', message: '', generation, sinceMs, updatedMs: sinceMs };
}

/** The generated status and the one sent to the API, after each step. */
function replay(
  scenario: Scenario,
  wanted: readonly { step: Step }[],
): { step: Step; input: StatusInput; local: PodStatus; api: PodStatus }[] {
  let local: PodStatus | undefined;
  let api: PodStatus = { phase: 'Pending', qosClass: scenario.qosClass };
  return wanted.map(({ step }) => {
    const input = inputOf(scenario, step, local);
    local = generatePodStatus(input);
    const couldRun = couldHaveRunningContainers(input.lifecycle, input.observed);
    api = mergePodStatus({
      pod: input.pod,
      api,
      status: local,
      couldHaveRunningContainers: couldRun,
      nowMs: input.nowMs,
    });
    return { step, input, local, api };
  });
}

/** The pod's own resources come from its cgroup and the allocations, which are no part of the recorded observations. */
function withoutPodResources(status: PodStatus): PodStatus {
  const { allocatedResources: _, resources: __, ...rest } = status;
  return rest;
}

describe('recorded statuses', () => {
  for (const { scenario, wanted } of reached) {
    test(scenario.name, () => {
      const actual = replay(scenario, wanted).map(({ api }) => withoutPodResources(api));
      expect(actual).toStrictEqual(wanted.map(({ want }) => want));
    });
  }
});

describe('a status is stable', () => {
  for (const { scenario, wanted } of reached) {
    test(`${scenario.name}: generating it again later changes nothing`, () => {
      for (const { input, local } of replay(scenario, wanted)) {
        const again = generatePodStatus({ ...input, previous: local, nowMs: input.nowMs + 60_000 });
        expect(again).toStrictEqual(local);
      }
    });

    test(`${scenario.name}: a terminal phase is final once the worker has finished`, () => {
      const last = replay(scenario, wanted).at(-1);
      if (last === undefined) throw new Error('no steps');
      if (last.input.lifecycle.state === 'rejected') return;
      const atMs = last.input.nowMs;
      const done = {
        ...last.input,
        lifecycle: { state: 'terminated', startedAtMs: 0, atMs, cleaned: true },
      } as const;
      expect(generatePodStatus({ ...done, previous: last.local, nowMs: atMs + 5000 })).toStrictEqual(
        last.local,
      );
    });
  }
});
