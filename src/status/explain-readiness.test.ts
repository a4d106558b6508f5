import { expect, test } from 'vitest';
import { aContainer, aPod } from '../../test/builders/builders.ts';
import type { Container, ContainerStatus, PodStatus } from '../api/k8s/types.ts';
import { explainReadiness } from './explain-readiness.ts';

const at = '2026-01-01T00:00:05Z';
const probe = { tcpSocket: { port: 1 } };
const running = { running: { startedAt: at } };
const one = (over: Partial<ContainerStatus>): ContainerStatus => ({
  name: 'c',
  image: '',
  imageID: '',
  ready: false,
  restartCount: 0,
  ...over,
});
const notReady = (over: Partial<PodStatus>, phase = 'Running'): PodStatus => ({
  phase,
  conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: at }],
  ...over,
});

const cases: readonly (readonly [string, Partial<Container>, PodStatus | undefined, string | undefined])[] = [
  ['no status yet', {}, undefined, undefined],
  [
    'ready',
    { readinessProbe: probe },
    { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
    undefined,
  ],
  ['over', {}, notReady({ containerStatuses: [one({ state: running })] }, 'Failed'), undefined],
  [
    'a readiness probe',
    { readinessProbe: probe },
    notReady({ containerStatuses: [one({ state: running, started: true })] }),
    'container c: its readiness probe does not succeed',
  ],
  [
    'a startup probe comes before the readiness probe',
    { readinessProbe: probe, startupProbe: probe },
    notReady({ containerStatuses: [one({ state: running, started: false })] }),
    'container c: its startup probe has not succeeded yet',
  ],
  [
    'an ended container that stays ended',
    {},
    notReady({ containerStatuses: [one({ state: { terminated: { exitCode: 0 } } })] }),
    'container c has ended with exit code 0',
  ],
  ['a container that starts', {}, notReady({ containerStatuses: [one({})] }), undefined],
  [
    'readiness gates',
    {},
    {
      phase: 'Running',
      conditions: [
        {
          type: 'Ready',
          status: 'False',
          reason: 'ReadinessGatesNotReady',
          message: 'corresponding condition of pod readiness gate "g" does not exist.',
          lastTransitionTime: at,
        },
      ],
    },
    'corresponding condition of pod readiness gate "g" does not exist.',
  ],
];

for (const [name, over, status, want] of cases)
  test(name, () => {
    const pod = aPod({ containers: [aContainer({ name: 'c', ...over })] });
    expect(explainReadiness(pod, status)).toEqual(
      want === undefined ? undefined : { what: want, sinceMs: Date.parse(at) },
    );
  });

test('names the init container that is running, and a sidecar only while it is not ready', () => {
  const pod = aPod({
    initContainers: [
      aContainer({ name: 's', restartPolicy: 'Always', startupProbe: probe }),
      aContainer({ name: 'i' }),
    ],
  });
  const initContainerStatuses = [
    one({ name: 's', state: running, started: true, ready: true }),
    one({ name: 'i', state: running, started: true }),
  ];
  expect(explainReadiness(pod, notReady({ initContainerStatuses }, 'Pending'))?.what).toBe(
    'init container i is running',
  );
});
