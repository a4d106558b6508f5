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

/** Starts again after 3 only; its own policy is Never. */
const again = container('c', {
  restartPolicy: 'Never',
  restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [3] } }],
});

const cases: readonly Case[] = [
  ['nothing known', pod(), [], 'Pending'],
  ['waiting for the first start', pod(), [waits('c')], 'Pending'],
  ['running', pod(), [up('c')], 'Running'],
  ['one runs, one waits', pod(two), [up('a'), waits('b')], 'Pending'],
  ['one runs, one is unknown', pod(two), [up('a')], 'Pending'],
  ['one runs, one has no state', pod(two), [up('a'), status('b')], 'Pending'],
  ['one runs, one ended', pod(two), [up('a'), down('b', 1)], 'Running'],
  ['Always: all ended well, will restart', pod(), [down('c', 0)], 'Running'],
  ['Always: crash loop', pod(), [backOff('c', 1)], 'Running'],
  ['no policy is Always', { ...pod(), spec: { containers: [container('c')] } }, [down('c', 0)], 'Running'],
  ['OnFailure: ended well', onFailure(), [down('c', 0)], 'Succeeded'],
  ['OnFailure: failed, will restart', onFailure(), [down('c', 1)], 'Running'],
  ['OnFailure: crash loop', onFailure(), [backOff('c', 1)], 'Running'],
  ['OnFailure: one well, one failed', onFailure(two), [down('a', 0), down('b', 1)], 'Running'],
  ['Never: ended well', never(), [down('c', 0)], 'Succeeded'],
  ['Never: failed', never(), [down('c', 1)], 'Failed'],
  ['Never: one well, one failed', never(two), [down('a', 0), down('b', 1)], 'Failed'],
  ['terminal, Always: ended well', pod(), [down('c', 0)], 'Succeeded', { terminal: true }],
  ['terminal, Always: failed', pod(), [down('c', 137)], 'Failed', { terminal: true }],
  ['terminal, waiting after a failure', pod(), [backOff('c', 1)], 'Failed', { terminal: true }],
  ['terminal, never started', pod(), [waits('c')], 'Pending', { terminal: true }],
  ['terminal static pod keeps its policy', staticPod(), [down('c', 137)], 'Running', { terminal: true }],
  ['init container not there yet', withInit(), [up('c')], 'Pending'],
  ['init container runs', withInit(), [up('i'), waits('c')], 'Pending'],
  ['init container waits', withInit(), [waits('i'), up('c')], 'Pending'],
  ['init container without state', withInit(), [status('i'), up('c')], 'Pending'],
  ['init container done', withInit(), [down('i', 0), up('c')], 'Running'],
  ['init failed, Always', withInit(), [down('i', 1), waits('c')], 'Pending'],
  ['init failed, Never', withInit({ restartPolicy: 'Never' }), [down('i', 1), waits('c')], 'Failed'],
  ['init backs off, Never', withInit({ restartPolicy: 'Never' }), [backOff('i', 1), waits('c')], 'Failed'],
  ['sidecar unknown', withSide(), [up('c')], 'Pending'],
  ['sidecar runs, not initialized', withSide(), [up('side'), down('c', 0)], 'Pending'],
  ['sidecar runs, initialized', withSide(), [up('side'), up('c')], 'Running', { initialized: true }],
  ['sidecar waits', withSide(), [waits('side'), up('c')], 'Pending', { initialized: true }],
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
    'sidecar failed, job well',
    withSide({ restartPolicy: 'Never' }),
    [down('side', 1), down('c', 0)],
    'Succeeded',
  ],
  [
    'own rules: ended with a code that restarts',
    never({ containers: [again] }),
    [down('c', 3)],
    'Running',
    { rules: true },
  ],
  ['own rules: ended with another', pod({ containers: [again] }), [down('c', 1)], 'Failed', { rules: true }],
  ['own rules: ended well', pod({ containers: [again] }), [down('c', 0)], 'Succeeded', { rules: true }],
  [
    'own rules without the gate: the policy of the pod',
    pod({ containers: [again] }),
    [down('c', 1)],
    'Running',
  ],
  [
    'own rules: waits after a code that restarts',
    never({ containers: [again] }),
    [backOff('c', 3)],
    'Running',
    { rules: true },
  ],
  [
    'own rules: an init container that fails for good',
    pod({ initContainers: [container('i', { restartPolicy: 'Never' })] }),
    [down('i', 1), waits('c')],
    'Failed',
    { rules: true },
  ],
  [
    'own rules: an init container that starts again',
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
