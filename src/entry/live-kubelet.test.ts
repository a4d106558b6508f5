import { expect, test } from 'vitest';
import { loadCommandLine, type RunOutcome } from '../config/command-line/load-command-line.ts';
import type { RunningKubelet } from '../live-config/candidate.ts';
import type { HealthCheck } from '../server/health.ts';
import { changesBetween, LiveKubelet } from './live-kubelet.ts';

const head = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };

async function outcomeOf(config: object): Promise<RunOutcome> {
  const read = async (): Promise<string> => JSON.stringify({ ...head, ...config });
  const files = { read, list: async () => [], workingDirectory: '/' };
  const outcome = await loadCommandLine({ argv: ['--config=/c.yaml'], files });
  if (outcome.kind !== 'run') throw new Error(outcome.text);
  return outcome;
}

interface Node {
  readonly checks?: readonly HealthCheck[];
  readonly ready?: string;
  readonly isShuttingDown?: boolean;
}

/** A kubelet that began with this configuration, on a runtime with another cgroup driver. */
async function begun(config: object, { checks = [], isShuttingDown = false, ready }: Node = {}) {
  const outcome = await outcomeOf(config);
  const assembled: RunningKubelet<RunOutcome>[] = [];
  const hooks = {
    assembled: (kubelet: RunningKubelet<RunOutcome>) => void assembled.push(kubelet),
    started: () => undefined,
  };
  const live = new LiveKubelet(outcome, hooks, () => undefined);
  const inForce = live.begin({ ...outcome.config, cgroupDriver: 'systemd' });
  const conditions = ready === undefined ? [] : [{ type: 'Ready', status: ready }];
  const ownNode = { get: () => ({ status: { conditions } }) };
  const stores = { ownNode } as unknown as Parameters<LiveKubelet['assembled']>[0]['stores'];
  const fault = ({ maxPods }: { readonly maxPods: number }): string | undefined =>
    maxPods > 1_000 ? `${maxPods} is too much` : undefined;
  live.assembled({ stores, trial: { checks, fault, isShuttingDown: () => isShuttingDown } });
  const [kubelet] = assembled;
  if (kubelet === undefined) throw new Error('not assembled');
  return { kubelet, inForce };
}

test('compares with what is in force, and applies what needs no restart', async () => {
  const { inForce, kubelet } = await begun({ maxPods: 10, cgroupDriver: 'cgroupfs' });
  const next = await outcomeOf({ maxPods: 20, port: 10_260 });
  expect(kubelet.compare(next)).toEqual({
    changes: [
      { path: 'port', applies: 'restart', old: '10250', new: '10260' },
      { path: 'maxPods', applies: 'now', old: '10', new: '20' },
    ],
    isPartlyApplicable: true,
    fault: undefined,
  });
  kubelet.apply(next);
  expect(inForce.current()).toMatchObject({ maxPods: 20, port: 10_250, cgroupDriver: 'systemd' });
  expect(kubelet.compare(next).changes.map(({ path }) => path)).toEqual(['port']);
});

test('shows no value that may be a credential', async () => {
  const before = await outcomeOf({
    staticPodURL: 'http://user:hush@127.0.0.1/pods?token=hush',
    staticPodURLHeader: { Authorization: ['Bearer hush'] },
  });
  const after = await outcomeOf({
    staticPodURL: 'http://user:quiet@127.0.0.1/pods?token=quiet',
    staticPodURLHeader: { Authorization: ['Bearer quiet'] },
  });
  const changes = changesBetween(before, after);
  expect(changes.map(({ path }) => path)).toEqual(['staticPodURL', 'staticPodURLHeader']);
  expect(JSON.stringify(changes)).toContain('Authorization');
  expect(JSON.stringify(changes)).not.toMatch(/hush|quiet/);
});

test('the first failing check is the symptom; an advisory one is none', async () => {
  const lease: HealthCheck = { name: 'lease', check: () => 'not renewed', advisory: true };
  const runtime: HealthCheck = { name: 'runtime', check: () => 'the runtime is gone' };
  expect((await begun({}, { checks: [lease] })).kubelet.symptom()).toBeUndefined();
  expect((await begun({}, { checks: [lease, runtime] })).kubelet.symptom()).toBe('the runtime is gone');
});

test.each([
  ['True', true],
  ['False', false],
  ['Unknown', undefined],
  [undefined, undefined],
])('a Ready condition that is %s', async (ready, want) => {
  const node = ready === undefined ? {} : { ready };
  expect((await begun({}, node)).kubelet.isNodeReady()).toBe(want);
});

test('what the machine cannot hold is judged as it would be in force', async () => {
  const { kubelet } = await begun({ maxPods: 10 });
  const next = await outcomeOf({ maxPods: 2_000, port: 10_260 });
  expect(kubelet.compare(next)).toMatchObject({ isPartlyApplicable: false, fault: '2000 is too much' });
});

test('reports a shutdown of the machine', async () => {
  expect((await begun({})).kubelet.isShuttingDown()).toBe(false);
  expect((await begun({}, { isShuttingDown: true })).kubelet.isShuttingDown()).toBe(true);
});
