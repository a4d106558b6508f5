// How running containers get their allocated resources.
import { expect, test } from 'vitest';
import { aContainer, anObservedContainer, aPod, exited } from '../../../test/builders/builders.ts';
import { checkActions, up } from '../../../test/builders/pod-actions.ts';
import type { Container, ResourceRequirements } from '../../api/k8s/types.ts';
import { computeResize, resizeAction } from './compute-resize.ts';

/** `1/2 1Gi/2Gi`: request and limit of CPU, then of memory. */
function amounts(text: string): ResourceRequirements {
  const [[cpu = '', cpuLimit = ''] = [], [memory = '', memoryLimit = ''] = []] = text
    .split(' ')
    .map((each) => each.split('/'));
  return { requests: { cpu, memory }, limits: { cpu: cpuLimit, memory: memoryLimit } };
}

const a = (text: string, over: Partial<Container> = {}): Container =>
  aContainer({ name: 'a', resources: amounts(text), ...over });
const b = (text: string, over: Partial<Container> = {}): Container =>
  aContainer({ name: 'b', resources: amounts(text), ...over });
const policy = (...resources: readonly string[]): Pick<Container, 'resizePolicy'> => ({
  resizePolicy: resources.map((resourceName) => ({ resourceName, restartPolicy: 'RestartContainer' })),
});
const bare = aContainer({ name: 'a' });
const runs = (name: string) => anObservedContainer({ name });
const given = (text: string): { given: { a: ResourceRequirements } } => ({ given: { a: amounts(text) } });
const one = up(runs('a'));
const restartA = [
  'stop a-1 of a: Container a resize requires restart (other)',
  "resize: memory of none, cpu of none, of the pod's cgroup",
  'start app a',
];

checkActions('resize', [
  [
    'has its allocated resources → nothing',
    aPod({ containers: [a('1/2 1Gi/2Gi')] }),
    one,
    [],
    given('1/2 1Gi/2Gi'),
  ],
  ['not allowed → nothing', aPod({ containers: [a('1/2 1Gi/2Gi')] }), one, []],
  [
    'CPU',
    aPod({ containers: [a('1/2 1Gi/2Gi')] }),
    one,
    ['resize: memory of none, cpu of a'],
    given('1/1 1Gi/2Gi'),
  ],
  [
    'only a memory request',
    aPod({ containers: [a('1/2 1Gi/2Gi')] }),
    one,
    ['resize: memory of a, cpu of none'],
    given('1/2 512Mi/2Gi'),
  ],
  [
    'both',
    aPod({ containers: [a('1/2 1Gi/2Gi')] }),
    one,
    ['resize: memory of a, cpu of a'],
    given('500m/1 512Mi/1Gi'),
  ],
  [
    "not running → the pod's cgroup is resized, the container starts with its allocation",
    aPod({ containers: [a('1/2 1Gi/2Gi')] }),
    up(exited(1, { name: 'a' })),
    ["resize: memory of none, cpu of none, of the pod's cgroup", 'start app a'],
    given('1/1 1Gi/2Gi'),
  ],
  [
    'not running, not resized → only started',
    aPod({ containers: [a('1/2 1Gi/2Gi')] }),
    up(exited(1, { name: 'a' })),
    ['start app a'],
    given('1/2 1Gi/2Gi'),
  ],
  [
    'RestartContainer for the resource that changes',
    aPod({ containers: [a('1/2 1Gi/2Gi', policy('memory'))] }),
    one,
    restartA,
    given('1/2 1Gi/1Gi'),
  ],
  [
    'RestartContainer for memory, only CPU changes',
    aPod({ containers: [a('1/2 1Gi/2Gi', policy('memory'))] }),
    one,
    ['resize: memory of none, cpu of a'],
    given('1/1 1Gi/2Gi'),
  ],
  [
    'RestartContainer, both change: the restart is enough',
    aPod({ containers: [a('1/2 1Gi/2Gi', policy('memory'))] }),
    one,
    restartA,
    given('1/1 1Gi/1Gi'),
  ],
  [
    "RestartContainer restarts whatever the pod's restart policy",
    aPod({ restartPolicy: 'OnFailure', containers: [a('1/2 1Gi/2Gi', policy('cpu'))] }),
    one,
    restartA,
    given('1/1 1Gi/2Gi'),
  ],
  [
    'shrinks before grows, per resource',
    aPod({ containers: [a('2/2 1Gi/1Gi'), b('1/1 2Gi/2Gi')] }),
    up(runs('a'), runs('b')),
    ['resize: memory of a b, cpu of b a'],
    { given: { a: amounts('1/1 2Gi/2Gi'), b: amounts('2/2 1Gi/1Gi') } },
  ],
  [
    'a container that restarts for another reason is not resized',
    aPod({ containers: [a('1/2 1Gi/2Gi')] }),
    one,
    [
      'stop a-1 of a: Container a failed liveness probe, will be restarted (liveness)',
      "resize: memory of none, cpu of none, of the pod's cgroup",
      'start app a',
    ],
    { ...given('1/1 1Gi/2Gi'), probes: { 'a-1 liveness': 'failure' } },
  ],
  [
    'a sidecar',
    aPod({ initContainers: [a('1/2 1Gi/2Gi', { restartPolicy: 'Always' })], containers: [b('1/1 1Gi/1Gi')] }),
    up(runs('a'), runs('b')),
    ['resize: memory of none, cpu of a'],
    { given: { a: amounts('1/1 1Gi/2Gi'), b: amounts('1/1 1Gi/1Gi') } },
  ],
  [
    'a sidecar that restarts for a resize',
    aPod({
      initContainers: [a('1/2 1Gi/2Gi', { restartPolicy: 'Always', ...policy('cpu') })],
      containers: [b('1/1 1Gi/1Gi')],
    }),
    up(runs('a'), runs('b')),
    [
      'stop a-1 of a: Container a resize requires restart (other)',
      "resize: memory of none, cpu of none, of the pod's cgroup",
      'start init a',
    ],
    { given: { a: amounts('1/1 1Gi/2Gi'), b: amounts('1/1 1Gi/1Gi') } },
  ],
  [
    'a plain init container that runs, never with a restart',
    aPod({ initContainers: [a('1/2 1Gi/2Gi', policy('cpu'))], containers: [b('1/1 1Gi/1Gi')] }),
    up(runs('a')),
    ['resize: memory of none, cpu of a'],
    given('1/1 1Gi/2Gi'),
  ],
  [
    'a plain init container that has ended',
    aPod({ initContainers: [a('1/2 1Gi/2Gi')], containers: [b('1/1 1Gi/1Gi')] }),
    up(exited(0, { name: 'a' }), runs('b')),
    [],
    { given: { a: amounts('1/1 1Gi/2Gi'), b: amounts('1/1 1Gi/1Gi') } },
  ],
  [
    'pod-level resources: the limits that a container has from its pod change with them',
    aPod({ resources: amounts('1/2 1Gi/2Gi'), containers: [bare, b('1/1 1Gi/1Gi')] }),
    up(runs('a'), runs('b')),
    ['resize: memory of none, cpu of a, of the pod'],
    { given: { a: {}, b: amounts('1/1 1Gi/1Gi') }, podLevel: amounts('1/1 1Gi/2Gi') },
  ],
  [
    'pod-level resources: containers with limits of their own keep them',
    aPod({ resources: amounts('1/2 1Gi/2Gi'), containers: [a('1/1 1Gi/1Gi')] }),
    one,
    ['resize: memory of none, cpu of none, of the pod'],
    { ...given('1/1 1Gi/1Gi'), podLevel: amounts('1/1 1Gi/2Gi') },
  ],
  [
    'pod-level resources as actuated → nothing',
    aPod({ resources: amounts('1/2 1Gi/2Gi'), containers: [bare] }),
    one,
    [],
    { given: { a: { limits: { cpu: '2', memory: '2Gi' } } }, podLevel: amounts('1000m/2 1Gi/2048Mi') },
  ],
  [
    'pod-level resources, recorded before they could be resized → only the cgroup is compared',
    aPod({ resources: amounts('1/2 1Gi/2Gi'), containers: [bare] }),
    one,
    ['resize: memory of none, cpu of none, of the pod'],
    { given: { a: {} } },
  ],
  [
    'pod-level resources: RestartContainer restarts for a limit that the container has from its pod',
    aPod({ resources: amounts('1/2 1Gi/2Gi'), containers: [{ ...bare, ...policy('memory') }] }),
    one,
    [
      'stop a-1 of a: Container a resize requires restart (other)',
      'resize: memory of none, cpu of none, of the pod',
      'start app a',
    ],
    { given: { a: {} }, podLevel: amounts('1/2 1Gi/1Gi') },
  ],
  [
    'pod-level resources: none before',
    aPod({ resources: amounts('1/2 1Gi/2Gi'), containers: [a('1/1 1Gi/1Gi')] }),
    one,
    ['resize: memory of none, cpu of none, of the pod'],
    { ...given('1/1 1Gi/1Gi'), podLevel: null },
  ],
]);

test('without a record of actuated resources: resized from what the runtime reports, never restarted', () => {
  const container = a('1/2 1Gi/2Gi', policy('cpu', 'memory'));
  const view = { actuated: () => undefined };
  const seen = (memoryLimitBytes: bigint) =>
    anObservedContainer({
      name: 'a',
      resources: { cpuRequestMilli: 1000n, cpuLimitMilli: 2000n, memoryLimitBytes },
    });
  const pod = aPod({ containers: [container] });
  expect(computeResize(pod, container, seen(2n << 30n), view)).toBeUndefined();
  const found = computeResize(pod, container, seen(1n << 30n), view);
  expect(found?.restart).toBe(false);
  expect(resizeAction(pod, found === undefined ? [] : [found], [], view)).toMatchObject({
    memory: [{ name: 'a', current: { memoryLimitBytes: 1n << 30n } }],
    cpu: [],
    podCgroup: false,
  });
});
