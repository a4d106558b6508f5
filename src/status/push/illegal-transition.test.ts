import { expect, test } from 'vitest';
import type { ContainerState, Pod } from '../../api/k8s/types.ts';
import { container, pod, status } from '../fixtures/builders.ts';
import { illegalTransition } from './illegal-transition.ts';

const gates = (rules: boolean) => ({
  ContainerRestartRules: rules,
  RestartAllContainersOnContainerExits: rules,
});

const ended = (exitCode: number): ContainerState => ({ terminated: { exitCode } });
const up: ContainerState = { running: {} };
const initPod = (restartPolicy: string, initPolicy?: string): Pod =>
  pod({
    restartPolicy,
    initContainers: [container('c', initPolicy === undefined ? {} : { restartPolicy: initPolicy })],
    containers: [container('app')],
  });

type Case = readonly [string, Pod, 'app' | 'init', ContainerState, ContainerState, string | undefined];

const cases: readonly Case[] = [
  ['Always: may restart', pod(), 'app', ended(0), up, undefined],
  [
    'OnFailure: may restart after a failure',
    pod({ restartPolicy: 'OnFailure' }),
    'app',
    ended(1),
    up,
    undefined,
  ],
  [
    'OnFailure: must not restart after exit code 0',
    pod({ restartPolicy: 'OnFailure' }),
    'app',
    ended(0),
    up,
    'c',
  ],
  ['Never: must not run again', pod({ restartPolicy: 'Never' }), 'app', ended(1), up, 'c'],
  [
    'Never: must not return to waiting',
    pod({ restartPolicy: 'Never' }),
    'app',
    ended(1),
    { waiting: {} },
    'c',
  ],
  ['Never: may stay terminated', pod({ restartPolicy: 'Never' }), 'app', ended(1), ended(2), undefined],
  [
    'Never: a running container may change to any state',
    pod({ restartPolicy: 'Never' }),
    'app',
    up,
    { waiting: {} },
    undefined,
  ],
  ['init container: must not run again', initPod('Never'), 'init', ended(0), up, 'c'],
  ['sidecar: may restart', initPod('Never', 'Always'), 'init', ended(0), up, undefined],
];

for (const [name, spec, kind, before, after, want] of cases) {
  test(`illegalTransition: ${name}`, () => {
    const key = kind === 'app' ? 'containerStatuses' : 'initContainerStatuses';
    const of = (state: ContainerState): object => ({ [key]: [status('c', { state })] });
    expect(illegalTransition(spec, of(before), of(after), gates(false))).toBe(want);
  });
}

test('illegalTransition: a container may restart by its own restart rules', () => {
  const spec = pod({
    restartPolicy: 'Never',
    containers: [
      container('c', {
        restartPolicy: 'Never',
        restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'NotIn', values: [0, 1] } }],
      }),
    ],
  });
  const of = (state: ContainerState): object => ({ containerStatuses: [status('c', { state })] });
  expect(illegalTransition(spec, of(ended(2)), of(up), gates(true))).toBeUndefined();
  expect(illegalTransition(spec, of(ended(1)), of(up), gates(true))).toBe('c');
  expect(illegalTransition(spec, of(ended(2)), of(up), gates(false))).toBe('c');
});

test('illegalTransition: ignores a container that is no longer in the spec', () => {
  const before = { containerStatuses: [status('gone', { state: ended(0) })] };
  expect(
    illegalTransition(pod({ restartPolicy: 'Never' }), before, { containerStatuses: [] }, gates(false)),
  ).toBeUndefined();
});
