// Replays recordings of the Go kubelet: the same observations give the same statuses.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { PodStatus } from '../api/k8s/types.ts';
import type { ContainerId } from '../api/pod/pod-ref.ts';
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

const folder = join(import.meta.dirname, 'fixtures');
const scenarios: readonly Scenario[] = readdirSync(folder)
  .filter((file) => file.endsWith('.json'))
  .map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Scenario);

test('finds all recordings', () => expect(scenarios).toHaveLength(34));

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
    probes: {
      started: (id) => step.started?.includes(nameOf(id)) === true,
      ready: (id) => step.ready?.includes(nameOf(id)) === true,
    },
  };
}

/** The generated status and the one sent to the API, after each step. */
function replay(scenario: Scenario): { step: Step; input: StatusInput; local: PodStatus; api: PodStatus }[] {
  let local: PodStatus | undefined;
  let api: PodStatus = { phase: 'Pending', qosClass: scenario.qosClass };
  return scenario.steps.map((step) => {
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

describe('recorded statuses', () => {
  for (const scenario of scenarios) {
    test(scenario.name, () => {
      let expected: Expectation = {};
      const want = scenario.steps.map((step) => {
        expected = accumulate(expected, step.expect);
        return expectedStatus(scenario, step, expected);
      });
      expect(replay(scenario).map(({ api }) => api)).toStrictEqual(want);
    });
  }
});

describe('a status is stable', () => {
  for (const scenario of scenarios) {
    test(`${scenario.name}: generating it again later changes nothing`, () => {
      for (const { input, local } of replay(scenario)) {
        const again = generatePodStatus({ ...input, previous: local, nowMs: input.nowMs + 60_000 });
        expect(again).toStrictEqual(local);
      }
    });

    test(`${scenario.name}: a terminal phase is final once the worker has finished`, () => {
      const last = replay(scenario).at(-1);
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
