import { describe, expect, test } from 'vitest';
import type { ContainerStatus, Pod } from '../api/k8s/types.ts';
import { container, pod, staticPod, status } from './fixtures/builders.ts';
import { computePhase } from './phase.ts';

const up = (name: string): ContainerStatus => status(name, { state: { running: {} } });
const down = (name: string, exitCode: number): ContainerStatus =>
  status(name, { state: { terminated: { exitCode } } });
const backOff = (name: string, exitCode: number): ContainerStatus =>
  status(name, {
    state: { waiting: { reason: 'CrashLoopBackOff' } },
    lastState: { terminated: { exitCode } },
  });
const waits = (name: string): ContainerStatus => status(name, { state: { waiting: {} } });

const side = container('side', { restartPolicy: 'Always' });
const two = { containers: [container('a'), container('b')] };
const never = (spec = {}): Pod => pod({ restartPolicy: 'Never', ...spec });
const onFailure = (spec = {}): Pod => pod({ restartPolicy: 'OnFailure', ...spec });
const withInit = (spec = {}): Pod => pod({ initContainers: [container('i')], ...spec });
const withSide = (spec = {}): Pod => pod({ initContainers: [side], ...spec });

type Case = readonly [
  string,
  Pod,
  readonly ContainerStatus[],
  string,
  { terminal?: true; initialized?: true; rules?: true }?,
];

/** Restarts after exit code 3 only; its own policy is Never. */
const again = container('c', {
  restartPolicy: 'Never',
  restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [3] } }],
});

const cases: readonly Case[] = [
  ['no statuses', pod(), [], 'Pending'],
  ['waiting for the first start', pod(), [waits('c')], 'Pending'],
  ['running', pod(), [up('c')], 'Running'],
  ['one running, one waiting', pod(two), [up('a'), waits('b')], 'Pending'],
  ['one running, one unknown', pod(two), [up('a')], 'Pending'],
  ['one running, one without a state', pod(two), [up('a'), status('b')], 'Pending'],
  ['one running, one exited', pod(two), [up('a'), down('b', 1)], 'Running'],
  ['Always: exited with 0, will restart', pod(), [down('c', 0)], 'Running'],
  ['Always: crash loop', pod(), [backOff('c', 1)], 'Running'],
  ['no policy is Always', { ...pod(), spec: { containers: [container('c')] } }, [down('c', 0)], 'Running'],
  ['OnFailure: exited with 0', onFailure(), [down('c', 0)], 'Succeeded'],
  ['OnFailure: failed, will restart', onFailure(), [down('c', 1)], 'Running'],
  ['OnFailure: crash loop', onFailure(), [backOff('c', 1)], 'Running'],
  ['OnFailure: one succeeded, one failed', onFailure(two), [down('a', 0), down('b', 1)], 'Running'],
  ['Never: exited with 0', never(), [down('c', 0)], 'Succeeded'],
  ['Never: failed', never(), [down('c', 1)], 'Failed'],
  ['Never: one succeeded, one failed', never(two), [down('a', 0), down('b', 1)], 'Failed'],
  ['terminal, Always: exited with 0', pod(), [down('c', 0)], 'Succeeded', { terminal: true }],
  ['terminal, Always: failed', pod(), [down('c', 137)], 'Failed', { terminal: true }],
  ['terminal, waiting after a failure', pod(), [backOff('c', 1)], 'Failed', { terminal: true }],
  ['terminal, never started', pod(), [waits('c')], 'Pending', { terminal: true }],
  ['terminal static pod keeps its policy', staticPod(), [down('c', 137)], 'Running', { terminal: true }],
  ['init container without status', withInit(), [up('c')], 'Pending'],
  ['init container running', withInit(), [up('i'), waits('c')], 'Pending'],
  ['init container waiting', withInit(), [waits('i'), up('c')], 'Pending'],
  ['init container without state', withInit(), [status('i'), up('c')], 'Pending'],
  ['init container completed', withInit(), [down('i', 0), up('c')], 'Running'],
  ['init failed, Always', withInit(), [down('i', 1), waits('c')], 'Pending'],
  ['init failed, Never', withInit({ restartPolicy: 'Never' }), [down('i', 1), waits('c')], 'Failed'],
  ['init backs off, Never', withInit({ restartPolicy: 'Never' }), [backOff('i', 1), waits('c')], 'Failed'],
  ['sidecar unknown', withSide(), [up('c')], 'Pending'],
  ['sidecar running, not initialized', withSide(), [up('side'), down('c', 0)], 'Pending'],
  ['sidecar running, initialized', withSide(), [up('side'), up('c')], 'Running', { initialized: true }],
  ['sidecar waiting', withSide(), [waits('side'), up('c')], 'Pending', { initialized: true }],
  ['sidecar without state', withSide(), [status('side'), up('c')], 'Pending', { initialized: true }],
  ['sidecar restarts in a new sandbox', withSide(), [backOff('side', 1), down('c', 0)], 'Running'],
  ['sidecar restarts', withSide(), [backOff('side', 1), up('c')], 'Running', { initialized: true }],
  [
    'sidecar outlives a job',
    withSide({ restartPolicy: 'Never' }),
    [up('side'), down('c', 0)],
    'Running',
    { initialized: true },
  ],
  [
    'sidecar failed, job succeeded',
    withSide({ restartPolicy: 'Never' }),
    [down('side', 1), down('c', 0)],
    'Succeeded',
  ],
  [
    'restart rules: exited with a code that restarts',
    never({ containers: [again] }),
    [down('c', 3)],
    'Running',
    { rules: true },
  ],
  [
    'restart rules: exited with another',
    pod({ containers: [again] }),
    [down('c', 1)],
    'Failed',
    { rules: true },
  ],
  [
    'restart rules: exited with 0',
    pod({ containers: [again] }),
    [down('c', 0)],
    'Succeeded',
    { rules: true },
  ],
  [
    'restart rules without the gate: the pod’s policy applies',
    pod({ containers: [again] }),
    [down('c', 1)],
    'Running',
  ],
  [
    'restart rules: waiting after a code that restarts',
    never({ containers: [again] }),
    [backOff('c', 3)],
    'Running',
    { rules: true },
  ],
  [
    'restart rules: an init container that fails and does not restart',
    pod({ initContainers: [container('i', { restartPolicy: 'Never' })] }),
    [down('i', 1), waits('c')],
    'Failed',
    { rules: true },
  ],
  [
    'restart rules: an init container that restarts',
    never({ initContainers: [container('i', { restartPolicy: 'OnFailure' })] }),
    [down('i', 1), waits('c')],
    'Pending',
    { rules: true },
  ],
];

describe('computePhase', () => {
  for (const [name, spec, statuses, want, flags] of cases) {
    test(name, () => {
      const view = {
        pod: spec,
        statuses,
        podIsTerminal: flags?.terminal ?? false,
        hasInitialized: flags?.initialized ?? false,
        restartRules: flags?.rules ?? false,
      };
      expect(computePhase(view)).toBe(want);
    });
  }
});
