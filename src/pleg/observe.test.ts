import { describe, expect, test } from 'vitest';
import { anObservedContainer, anObservedPod, aSandbox, exited } from '../../test/builders/builders.ts';
import {
  Container,
  ContainerState,
  ContainerStatus,
  PodSandbox,
  PodSandboxState,
  PodSandboxStatus,
  Signal,
} from '../api/cri/generated/runtime/v1/api.ts';
import { asContainerId, asPodUid, asSandboxId } from '../api/pod/pod-ref.ts';
import { groupByPod, matchesList, observedContainer, observedPod, observedSandbox } from './observe.ts';

const ofPod = (uid: string): Record<string, string> => ({ 'io.kubernetes.pod.uid': uid });
const listedSandbox = (
  id = 'sandbox-1',
  state: PodSandboxState = PodSandboxState.SANDBOX_READY,
): PodSandbox => PodSandbox.fromPartial({ id, state, labels: ofPod('u') });
const listedContainer = (id = 'c-1', state: ContainerState = ContainerState.CONTAINER_RUNNING): Container =>
  Container.fromPartial({ id, state, labels: ofPod('u') });

test('groups a list by the pod UID label and ignores entries without one', () => {
  const groups = groupByPod(
    [listedSandbox(), PodSandbox.fromPartial({ id: 'unlabelled', metadata: { uid: 'x' } })],
    [
      listedContainer(),
      Container.fromPartial({ id: 'unlabelled' }),
      Container.fromPartial({ labels: ofPod('v') }),
    ],
  );
  expect(
    [...groups].map(([uid, { sandboxes, containers }]) => [uid, sandboxes.length, containers.length]),
  ).toEqual([
    ['u', 1, 1],
    ['v', 0, 1],
  ]);
});

describe('matchesList', () => {
  const cases = [
    ['the same', [listedSandbox()], [listedContainer()], true],
    ['a sandbox more', [listedSandbox(), listedSandbox('s2')], [listedContainer()], false],
    ['another sandbox', [listedSandbox('s2')], [listedContainer()], false],
    [
      'sandbox not ready',
      [listedSandbox('sandbox-1', PodSandboxState.SANDBOX_NOTREADY)],
      [listedContainer()],
      false,
    ],
    ['container removed', [listedSandbox()], [], false],
    ['container exited', [listedSandbox()], [listedContainer('c-1', ContainerState.CONTAINER_EXITED)], false],
    ['another container', [listedSandbox()], [listedContainer('c-2')], false],
  ] as const;
  for (const [name, sandboxes, containers, want] of cases) {
    test(name, () =>
      expect(matchesList(anObservedPod(), { sandboxes: [...sandboxes], containers: [...containers] })).toBe(
        want,
      ),
    );
  }
});

describe('observedSandbox', () => {
  const status = {
    id: 's',
    metadata: { name: 'p', namespace: 'ns', uid: 'u', attempt: 3 },
    createdAt: 1_500_000n,
    network: { ip: '10.0.0.1', additionalIps: [{ ip: 'fd00::1' }, { ip: '' }] },
    runtimeHandler: 'h',
  };
  const cases = [
    [
      'addresses, primary first',
      {},
      { ips: ['10.0.0.1', 'fd00::1'], ready: true, attempt: 3, createdAtMs: 1.5 },
    ],
    ['no address yet', { network: { ip: '' } }, { ips: [] }],
    ['no network at all', { network: undefined }, { ips: [] }],
    [
      'none on the host network',
      { linux: { namespaces: { options: { network: 2 } } } },
      { ips: [], hostNetwork: true },
    ],
    ['not ready', { state: PodSandboxState.SANDBOX_NOTREADY }, { ready: false }],
  ] as const;
  for (const [name, over, want] of cases) {
    test(name, () =>
      expect(observedSandbox(PodSandboxStatus.fromPartial({ ...status, ...over }))).toMatchObject(want),
    );
  }
});

describe('observedContainer', () => {
  const of = (over: object): ReturnType<typeof observedContainer> =>
    observedContainer(
      ContainerStatus.fromPartial({ id: 'i', metadata: { name: 'm', attempt: 4 }, ...over }),
      's',
    );
  const cases: readonly (readonly [string, object, object])[] = [
    ['name from the label', { labels: { 'io.kubernetes.container.name': 'c' } }, { name: 'c' }],
    ['name and restart count from the metadata without a label', {}, { name: 'm', restartCount: 4 }],
    [
      'restart count from the annotation',
      { annotations: { 'io.kubernetes.container.restartCount': '7' } },
      { restartCount: 7 },
    ],
    [
      'an annotation that is not a number is ignored',
      { annotations: { 'io.kubernetes.container.restartCount': '7x' } },
      { restartCount: 4 },
    ],
    [
      'grace periods',
      {
        annotations: {
          'io.kubernetes.pod.terminationGracePeriod': '30',
          'io.kubernetes.pod.deletionGracePeriod': '5',
        },
      },
      { terminationGraceSeconds: 30, deletionGraceSeconds: 5 },
    ],
    ['no grace periods', {}, { terminationGraceSeconds: undefined, deletionGraceSeconds: undefined }],
    ['created', { state: 0 }, { state: 'created' }],
    ['running', { state: 1 }, { state: 'running' }],
    ['exited', { state: 2 }, { state: 'exited' }],
    ['unknown', { state: 3 }, { state: 'unknown' }],
    ['an undefined state counts as unknown', { state: 17 }, { state: 'unknown' }],
    ['never started', { startedAt: 0n, finishedAt: -5n }, { startedAtMs: 0, finishedAtMs: 0 }],
    ['times', { startedAt: 1_000_250_000n }, { startedAtMs: 1_000.25 }],
  ];
  for (const [name, over, want] of cases) test(name, () => expect(of(over)).toMatchObject(want));
});

describe('observedPod', () => {
  const uid = asPodUid('u');
  const none = { sandboxes: [], containers: [] };
  test('undefined without sandboxes and containers', () =>
    expect(observedPod(uid, none, [], [], 1)).toBeUndefined());
  test('takes the name from a container whose sandbox was removed', () => {
    const labels = { 'io.kubernetes.pod.name': 'n', 'io.kubernetes.pod.namespace': 'ns' };
    const listed = { sandboxes: [], containers: [Container.fromPartial({ labels })] };
    expect(observedPod(uid, listed, [], [anObservedContainer()], 1)).toMatchObject({
      name: 'n',
      namespace: 'ns',
    });
  });
  test('sorts by attempt and restart count before creation time', () => {
    const pod = observedPod(
      uid,
      none,
      [aSandbox({ createdAtMs: 9 }), aSandbox({ id: asSandboxId('s2'), attempt: 1, createdAtMs: 1 })],
      [
        exited(1, { restartCount: 0, createdAtMs: 9 }),
        anObservedContainer({ id: asContainerId('c-2'), restartCount: 1, createdAtMs: 1 }),
        exited(1, { id: asContainerId('c-0'), restartCount: 0, createdAtMs: 10 }),
      ],
      1,
    );
    expect(pod?.sandboxes.map(({ id }) => id)).toEqual(['s2', 'sandbox-1']);
    expect(pod?.containers.map(({ id }) => id)).toEqual(['c-2', 'c-0', 'c-1']);
  });
});

test('keeps resources, user and stop signal that the runtime reports, and omits the others', () => {
  const reported = observedContainer(
    ContainerStatus.fromPartial({
      id: 'c',
      resources: {
        linux: { cpuPeriod: 100_000n, cpuQuota: 50_000n, cpuShares: 102n, memoryLimitInBytes: 1024n },
      },
      user: { linux: { uid: 1000n, gid: 0n, supplementalGroups: [5n] } },
      stopSignal: Signal.SIGNAL_SIGUSR1,
      mounts: [
        { containerPath: '/a', recursiveReadOnly: true },
        { containerPath: '/b', image: { image: 'sha256:1' } },
      ],
    }),
    's',
  );
  expect(reported).toMatchObject({
    resources: { cpuLimitMilli: 500n, cpuRequestMilli: 100n, memoryLimitBytes: 1024n },
    user: { uid: 1000, gid: 0, supplementalGroups: [5] },
    stopSignal: 'SIGUSR1',
    recursiveReadOnly: ['/a'],
    imageMounts: ['sha256:1'],
  });
  const minimal = observedContainer(
    ContainerStatus.fromPartial({ id: 'c', resources: { linux: { cpuPeriod: 100_000n, cpuQuota: -1n } } }),
    's',
  );
  expect(Object.keys(minimal)).not.toEqual(expect.arrayContaining(['resources']));
  expect(minimal).not.toHaveProperty('user');
  expect(minimal).not.toHaveProperty('stopSignal');
});
