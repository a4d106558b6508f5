import { describe, expect, test } from 'vitest';
import type { ContainerStatus, Pod, PodStatus } from '../api/k8s/types.ts';
import { asContainerId } from '../api/pod/pod-ref.ts';
import {
  container,
  exited,
  input,
  observedPod,
  pod,
  running,
  startText,
  status,
  syncing,
  terminating,
} from './fixtures/builders.ts';
import { generatePodStatus, type StatusInput } from './generate-status.ts';
import { defaultStatusGates, type StatusGates } from './status-gates.ts';

const first = (status: PodStatus): ContainerStatus => status.containerStatuses?.[0] as ContainerStatus;
const generate = (fields: Partial<StatusInput> = {}): PodStatus => generatePodStatus(input(fields));

describe('container states', () => {
  const crash = { c: { reason: 'CrashLoopBackOff', message: 'back-off 10s' } };
  const before = (fields: Partial<ContainerStatus>): PodStatus => ({
    phase: 'Running',
    containerStatuses: [status('c', { containerID: 'containerd://c-1', ...fields })],
  });
  const wasRunning = before({ state: { running: {} }, restartCount: 2 });
  const lost = { exitCode: 137, reason: 'ContainerStatusUnknown', startedAt: null, finishedAt: null };
  const cases: readonly (readonly [string, Partial<StatusInput>, object])[] = [
    [
      'not created yet',
      {},
      { state: { waiting: { reason: 'ContainerCreating' } }, imageID: '', restartCount: 0 },
    ],
    [
      'not created yet, behind init containers',
      { pod: pod({ initContainers: [container('i')] }) },
      { state: { waiting: { reason: 'PodInitializing' } } },
    ],
    [
      'created, not started',
      { observed: observedPod([running('c', { state: 'created' })]) },
      { state: { waiting: { reason: 'ContainerCreating' } }, imageID: '' },
    ],
    [
      'recreated, not started: keeps the old state',
      { observed: observedPod([running('c', { state: 'created', restartCount: 1 }), exited('c', 3)]) },
      { state: { terminated: { exitCode: 3 } }, restartCount: 0 },
    ],
    [
      'recreated, not started, after a back-off: still waiting',
      {
        observed: observedPod([running('c', { state: 'created', restartCount: 1 }), exited('c', 3)]),
        lifecycle: syncing(crash),
      },
      {
        state: { waiting: { reason: 'CrashLoopBackOff' } },
        lastState: { terminated: { exitCode: 3 } },
        restartCount: 0,
      },
    ],
    [
      'created, failed to start',
      {
        observed: observedPod([running('c', { state: 'created' })]),
        lifecycle: syncing({ c: { reason: 'RunContainerError', message: 'no such file' } }),
      },
      { state: { waiting: { reason: 'RunContainerError', message: 'no such file' } }, lastState: {} },
    ],
    [
      'a reason without a message',
      { lifecycle: syncing({ c: { reason: 'ErrImagePull', message: '' } }) },
      { state: { waiting: { reason: 'ErrImagePull' } } },
    ],
    [
      'a running container has no waiting reason',
      { observed: observedPod([running()]), lifecycle: syncing(crash) },
      { state: { running: { startedAt: '2026-03-01T10:00:02Z' } } },
    ],
    [
      'crash loop: the terminated state moves to lastState',
      { observed: observedPod([exited('c', 1)]), lifecycle: syncing(crash) },
      {
        state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 10s' } },
        lastState: {
          terminated: {
            exitCode: 1,
            reason: 'Error',
            startedAt: '2026-03-01T10:00:02Z',
            finishedAt: '2026-03-01T10:00:09Z',
            containerID: 'containerd://c-1',
          },
        },
      },
    ],
    [
      'no crash loop with restart policy Never',
      {
        pod: pod({ restartPolicy: 'Never' }),
        observed: observedPod([exited('c', 1)]),
        lifecycle: syncing(crash),
      },
      { state: { terminated: expect.objectContaining({ exitCode: 1 }) }, lastState: {} },
    ],
    [
      'no crash loop for exit code 0 under OnFailure',
      {
        pod: pod({ restartPolicy: 'OnFailure' }),
        observed: observedPod([exited()]),
        lifecycle: syncing(crash),
      },
      { state: { terminated: expect.objectContaining({ exitCode: 0 }) } },
    ],
    [
      'no crash loop in a pod that is being deleted',
      {
        pod: pod({}, { metadata: { deletionTimestamp: startText } }),
        observed: observedPod([exited('c', 1)]),
        lifecycle: syncing(crash),
      },
      { state: { terminated: expect.objectContaining({ exitCode: 1 }) } },
    ],
    [
      'the previous container is the lastState',
      {
        observed: observedPod([
          running('c', { id: asContainerId('c-2'), restartCount: 1 }),
          exited('c', 3, { message: 'bye' }),
          exited('c', 9, { id: asContainerId('c-0') }),
        ]),
      },
      {
        containerID: 'containerd://c-2',
        restartCount: 1,
        lastState: {
          terminated: expect.objectContaining({
            exitCode: 3,
            message: 'bye',
            containerID: 'containerd://c-1',
          }),
        },
      },
    ],
    [
      'never started: startedAt is the epoch',
      { observed: observedPod([exited('c', 128, { startedAtMs: 0, reason: 'StartError' })]) },
      { state: { terminated: expect.objectContaining({ startedAt: '1970-01-01T00:00:00Z' }) } },
    ],
    [
      'ran, and missing in the runtime: terminated, restart counted',
      { observed: observedPod(), previous: wasRunning },
      {
        state: { waiting: { reason: 'ContainerCreating' } },
        lastState: { terminated: expect.objectContaining(lost) },
        restartCount: 3,
      },
    ],
    [
      'missing while the pod terminates: not counted as a restart',
      { observed: observedPod(), previous: wasRunning, lifecycle: terminating },
      { lastState: { terminated: expect.objectContaining(lost) }, restartCount: 2 },
    ],
    [
      'ran, and in state unknown: terminated',
      { observed: observedPod([running('c', { state: 'unknown' })]), previous: wasRunning },
      { state: { terminated: expect.objectContaining(lost) }, restartCount: 3 },
    ],
    [
      'never ran, and in state unknown: waiting',
      { observed: observedPod([running('c', { state: 'unknown' })]) },
      { state: { waiting: {} } },
    ],
    [
      'terminated and garbage-collected: stays terminated',
      {
        observed: observedPod(),
        previous: before({ state: { terminated: { exitCode: 3 } }, restartCount: 4 }),
      },
      { state: { terminated: { exitCode: 3 } }, restartCount: 4 },
    ],
  ];
  for (const [name, fields, want] of cases) {
    test(name, () => expect(first(generate(fields))).toMatchObject(want));
  }

  const ended = (exitCode: number): object => ({ terminated: { exitCode } });
  const lastStates: readonly (readonly [string, Partial<StatusInput>, object])[] = [
    [
      'restarted, and the container before was removed: its reported end',
      {
        observed: observedPod([running('c', { id: asContainerId('c-2') })]),
        previous: before({ state: ended(3) }),
      },
      ended(3),
    ],
    [
      'the container before still exists: its end, not the reported one',
      {
        observed: observedPod([running('c', { id: asContainerId('c-3') }), exited('c', 4)]),
        previous: before({ state: ended(3) }),
      },
      ended(4),
    ],
    [
      'the same container: the end of the one before is kept',
      {
        observed: observedPod([running('c')]),
        previous: before({ state: { running: {} }, lastState: ended(5) }),
      },
      ended(5),
    ],
  ];
  for (const [name, fields, want] of lastStates) {
    test(name, () => expect(first(generate(fields)).lastState).toMatchObject(want));
  }

  const completed = { exitCode: 0, reason: 'Completed', startedAt: null, finishedAt: null };
  const withInit = (fields: object): Pod => pod({ initContainers: [container('i', fields)] });
  const removedInits: readonly (readonly [string, Partial<StatusInput>, object])[] = [
    [
      'removed, and a regular container exists: it has completed',
      { pod: withInit({}), observed: observedPod([running('c')]) },
      { state: { terminated: completed }, ready: true },
    ],
    [
      'removed, and no regular container exists: it waits',
      { pod: withInit({}), observed: observedPod() },
      { state: { waiting: { reason: 'PodInitializing' } }, ready: false },
    ],
    [
      'a removed sidecar waits, since it is started again',
      { pod: withInit({ restartPolicy: 'Always' }), observed: observedPod([running('c')]) },
      { state: { waiting: { reason: 'PodInitializing' } }, ready: false },
    ],
  ];
  for (const [name, fields, want] of removedInits) {
    test(`init container: ${name}`, () =>
      expect(generate(fields).initContainerStatuses?.[0]).toMatchObject(want));
  }

  test('keeps reporting a container in state unknown as terminated', () => {
    const odd = { observed: observedPod([running('c', { state: 'unknown' })]) };
    const reported = generate({ ...odd, previous: wasRunning });
    expect(generate({ ...odd, previous: reported })).toEqual(reported);
  });

  test('sorts app containers by name, keeps init containers in order, gives ephemeral ones no readiness', () => {
    const ephemeral = { name: 'debug', image: 'busybox' };
    const late = { name: 'late', image: 'busybox' };
    const spec = pod({
      containers: [container('z'), container('a')],
      initContainers: [container('i2'), container('i1')],
      ephemeralContainers: [late, ephemeral],
    });
    const status = generate({ pod: spec, observed: observedPod([running('debug')]) });
    expect(status.containerStatuses?.map(({ name }) => name)).toEqual(['a', 'z']);
    expect(status.initContainerStatuses?.map(({ name }) => name)).toEqual(['i2', 'i1']);
    expect(status.ephemeralContainerStatuses).toMatchObject([
      { name: 'debug', ready: false, resources: {} },
      { name: 'late', ready: false, state: { waiting: { reason: 'PodInitializing' } } },
    ]);
    expect(status.ephemeralContainerStatuses?.[0]).not.toHaveProperty('started');
  });

  test('reports allocated resources', () => {
    const requests = { cpu: '1' };
    const of = (resources: object): unknown => {
      const spec = pod({ containers: [container('c', { resources })] });
      const { allocatedResources, resources: enacted } = first(
        generate({ pod: spec, observed: observedPod([running()]) }),
      );
      return { allocatedResources, enacted };
    };
    expect(of({ requests, limits: {}, claims: [] })).toEqual({
      allocatedResources: requests,
      enacted: { requests },
    });
    const claims = [{ name: 'gpu' }];
    expect(of({ claims })).toEqual({ allocatedResources: undefined, enacted: { claims } });
  });

  test('reports volume mounts', () => {
    const mounts = [
      { name: 'rw', mountPath: '/rw' },
      { name: 'ro', mountPath: '/ro', readOnly: true },
      { name: 'rro', mountPath: '/rro', readOnly: true, recursiveReadOnly: 'IfPossible' },
      {
        name: 'shared',
        mountPath: '/s',
        readOnly: true,
        recursiveReadOnly: 'Enabled',
        mountPropagation: 'Bidirectional',
      },
    ];
    const spec = pod({ containers: [container('c', { volumeMounts: mounts })] });
    const modes = (supportsRecursiveReadOnly: boolean): unknown =>
      first(generate({ pod: spec, supportsRecursiveReadOnly })).volumeMounts;
    const plain = [
      { name: 'rw', mountPath: '/rw' },
      { name: 'ro', mountPath: '/ro', readOnly: true, recursiveReadOnly: 'Disabled' },
      { name: 'rro', mountPath: '/rro', readOnly: true, recursiveReadOnly: 'Disabled' },
      { name: 'shared', mountPath: '/s', readOnly: true, recursiveReadOnly: 'Disabled' },
    ];
    expect(modes(false)).toEqual(plain);
    expect(modes(true)).toEqual(
      plain.map((mount) => (mount.name === 'rro' ? { ...mount, recursiveReadOnly: 'Enabled' } : mount)),
    );
  });

  test('truncates termination messages to 12 KiB per pod at character boundaries', () => {
    const spec = pod({ containers: [container('c'), container('d')] });
    const message = `a${'€'.repeat(6000)}`;
    const status = generate({
      pod: spec,
      observed: observedPod([exited('c', 1, { message }), exited('d', 1, { message: 'short' })]),
    });
    expect(first(status).state?.terminated?.message).toBe(`a${'€'.repeat(2047)}`);
    expect(status.containerStatuses?.[1]?.state?.terminated?.message).toBe('short');
  });
});

describe('probes', () => {
  const probe = { tcpSocket: { port: 80 } };
  const probedPod = pod({ containers: [container('c', { startupProbe: probe, readinessProbe: probe })] });
  const probeResults = (started: boolean | undefined, ready: boolean | undefined): Partial<StatusInput> => ({
    pod: probedPod,
    observed: observedPod([running()]),
    probes: { started: () => started, ready: () => ready },
  });
  const reported = (fields: Partial<ContainerStatus>): PodStatus => ({
    containerStatuses: [status('c', { state: { running: {} }, containerID: 'containerd://c-1', ...fields })],
  });
  const cases: readonly (readonly [string, Partial<StatusInput>, [started: boolean, ready: boolean]])[] = [
    ['no prober', { pod: probedPod, observed: observedPod([running()]) }, [true, true]],
    ['no probe in the spec', { ...probeResults(undefined, undefined), pod: pod() }, [true, true]],
    ['no result yet', probeResults(undefined, undefined), [false, false]],
    ['not started', probeResults(false, true), [false, false]],
    ['started, not ready', probeResults(true, false), [true, false]],
    ['started, no readiness result', probeResults(true, undefined), [true, false]],
    ['ready', probeResults(true, true), [true, true]],
    ['not running', { ...probeResults(true, true), observed: observedPod([exited()]) }, [false, false]],
    [
      'the same container stays ready across a restart of the kubelet',
      { ...probeResults(undefined, undefined), previous: reported({ started: true, ready: true }) },
      [true, true],
    ],
    [
      'a new container starts unready',
      {
        ...probeResults(undefined, undefined),
        previous: reported({ started: true, ready: true, containerID: 'containerd://c-0' }),
      },
      [false, false],
    ],
  ];
  for (const [name, fields, [started, ready]] of cases) {
    test(name, () => expect(first(generate(fields))).toMatchObject({ started, ready }));
  }

  test('reports init containers ready when completed, sidecars by their readiness probe', () => {
    const side = container('side', { restartPolicy: 'Always', readinessProbe: probe });
    const spec = pod({ initContainers: [container('i'), side] });
    const ready = (answer: boolean): unknown =>
      generate({
        pod: spec,
        observed: observedPod([running('side'), exited('i')]),
        probes: { started: () => undefined, ready: () => answer },
      }).initContainerStatuses?.map((each) => [each.name, each.started, each.ready]);
    expect(ready(false)).toEqual([
      ['i', false, true],
      ['side', true, false],
    ]);
    expect(ready(true)).toEqual([
      ['i', false, true],
      ['side', true, true],
    ]);
  });
});

describe('fields from the runtime', () => {
  const user = { uid: 1000, gid: 3000, supplementalGroups: [3000, 4000] };
  const statusFrom = (
    fields: Parameters<typeof running>[1],
    over: Partial<StatusGates> = {},
  ): ContainerStatus =>
    first(
      generate({ observed: observedPod([running('c', fields)]), gates: { ...defaultStatusGates, ...over } }),
    );

  test('reports the user', () => {
    expect(statusFrom({ user }).user).toEqual({ linux: user });
    expect(statusFrom({ user: { ...user, supplementalGroups: [] } }).user).toEqual({
      linux: { uid: 1000, gid: 3000 },
    });
    expect(statusFrom({})).not.toHaveProperty('user');
    expect(statusFrom({ user }, { SupplementalGroupsPolicy: false })).not.toHaveProperty('user');
  });

  test('reports which mounts are recursively read-only', () => {
    const mounts = ['/a', '/b'].map((mountPath) => ({
      name: 'v',
      mountPath,
      readOnly: true,
      recursiveReadOnly: 'IfPossible',
    }));
    const status = first(
      generate({
        pod: pod({ containers: [container('c', { volumeMounts: mounts })] }),
        observed: observedPod([running('c', { recursiveReadOnly: ['/a'] })]),
      }),
    );
    expect(status.volumeMounts?.map(({ recursiveReadOnly }) => recursiveReadOnly)).toEqual([
      'Enabled',
      'Disabled',
    ]);
  });

  test('reports the stop signal behind its gate', () => {
    expect(statusFrom({ stopSignal: 'SIGUSR1' }, { ContainerStopSignals: true }).stopSignal).toBe('SIGUSR1');
    expect(statusFrom({ stopSignal: 'SIGUSR1' })).not.toHaveProperty('stopSignal');
  });
});

describe('resources of a container', () => {
  const allocated = {
    limits: { cpu: '500m', memory: '128Mi', 'example.com/gpu': '1' },
    requests: { cpu: '100m', memory: '64Mi' },
  };
  const before = (resources: ContainerStatus['resources']): PodStatus => ({
    containerStatuses: [
      status('c', {
        containerID: 'containerd://c-1',
        state: { running: {} },
        ...(resources && { resources }),
      }),
    ],
  });
  type Row = readonly [
    string,
    {
      readonly spec?: object;
      readonly observed?: Parameters<typeof running>[1];
      readonly previous?: PodStatus;
    },
    object,
  ];
  const rows: readonly Row[] = [
    ['no resources requested', { spec: {} }, {}],
    [
      'no resources requested, but set in the runtime',
      { spec: {}, observed: { resources: { cpuRequestMilli: 2n } } },
      {},
    ],
    ['none reported by the runtime: as allocated', {}, allocated],
    [
      'as reported by the runtime',
      {
        observed: { resources: { cpuLimitMilli: 750n, cpuRequestMilli: 200n, memoryLimitBytes: 268435456n } },
      },
      {
        limits: { ...allocated.limits, cpu: '750m', memory: '256Mi' },
        requests: { ...allocated.requests, cpu: '200m' },
      },
    ],
    [
      'below the kernel’s minimum: as allocated',
      {
        spec: { limits: { cpu: '5m' }, requests: { cpu: '1m' } },
        observed: { resources: { cpuLimitMilli: 10n, cpuRequestMilli: 2n } },
      },
      { limits: { cpu: '5m' }, requests: { cpu: '1m' } },
    ],
    [
      'lowered to the kernel’s minimum: as reported',
      {
        spec: { limits: { cpu: '20m' }, requests: { cpu: '4m' } },
        observed: { resources: { cpuLimitMilli: 10n, cpuRequestMilli: 2n } },
      },
      { limits: { cpu: '10m' }, requests: { cpu: '2m' } },
    ],
    [
      'no longer reported by the runtime: the last reported values stay',
      { previous: before({ limits: { cpu: '400m', memory: '100Mi' }, requests: { cpu: '90m' } }) },
      {
        limits: { ...allocated.limits, cpu: '400m', memory: '100Mi' },
        requests: { ...allocated.requests, cpu: '90m' },
      },
    ],
    [
      'a terminated container: as allocated',
      { observed: { state: 'exited', resources: { cpuLimitMilli: 750n } } },
      allocated,
    ],
  ];
  test.each(rows)('%s', (_, { spec = allocated, observed: fields = {}, previous }, want) => {
    const status = first(
      generate({
        pod: pod({ containers: [container('c', { resources: spec })] }),
        observed: observedPod([running('c', fields)]),
        previous,
      }),
    );
    expect(status.resources).toEqual(want);
  });

  test('reports the memory request last applied, which the runtime does not have', () => {
    const requests = (state: 'running' | 'exited', actuated: ContainerStatus['resources']): unknown => {
      const spec = pod({ containers: [container('c', { resources: { requests: { memory: '128Mi' } } })] });
      const observed = observedPod([running('c', { state })]);
      return first(generate({ pod: spec, observed, actuated: () => actuated })).resources?.requests;
    };
    expect(requests('running', { requests: { memory: '64Mi' } })).toEqual({ memory: '64Mi' });
    expect(requests('running', undefined)).toEqual({ memory: '128Mi' });
    expect(requests('running', {})).toEqual({ memory: '128Mi' });
    expect(requests('exited', { requests: { memory: '64Mi' } })).toEqual({ memory: '128Mi' });
  });

  test('omits resources without the gate', () => {
    const gates = { ...defaultStatusGates, InPlacePodVerticalScaling: false };
    const spec = pod({ containers: [container('c', { resources: allocated })] });
    const reported = first(generate({ pod: spec, observed: observedPod([running()]), gates }));
    expect(reported).not.toHaveProperty('resources');
    expect(reported).not.toHaveProperty('allocatedResources');
  });
});
