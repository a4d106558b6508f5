// In-place resize of running pods in memory: requested at the API server, admitted, actuated and reported by the
// kubelet.
import { expect, onTestFinished, test } from 'vitest';
import type { Container, PodCondition } from '../../../src/api/k8s/types.ts';
import { aContainer, aPod, type PodOver } from '../../builders/builders.ts';
import { ClusterWorld } from '../../simulate/cluster-world.ts';

class Scene extends ClusterWorld {
  static async open(options: ConstructorParameters<typeof ClusterWorld>[0] = {}): Promise<Scene> {
    const scene = new Scene(options);
    onTestFinished(() => scene.close());
    await scene.node.start();
    await scene.advance(2_000);
    return scene;
  }

  /** Runs a pod with one container with these resources: `500m/1 256Mi/512Mi`, requests before limits. */
  async runs(
    name: string,
    amounts: string,
    over: PodOver & { readonly container?: Partial<Container> } = {},
  ) {
    const { container, ...rest } = over;
    this.run(name, { containers: [aContainer({ resources: resources(amounts), ...container })], ...rest });
    await this.advance(3_000);
  }

  resize(
    name: string,
    amounts: string,
    container = 'c',
    list: 'containers' | 'initContainers' = 'containers',
  ) {
    const pod = this.pod(name);
    const changed = (pod?.spec?.[list] ?? []).map((each) =>
      each.name === container ? { ...each, resources: resources(amounts) } : each,
    );
    this.api.objects.patch('pods', 'default', name, { spec: { [list]: changed } }, 'resize');
  }

  conditions(name: string): readonly string[] {
    const all = this.pod(name)?.status?.conditions ?? [];
    return all.filter(({ type }) => type.startsWith('PodResize')).map(words);
  }

  /** The resources in the status of the first container: `allocated 500m 256Mi, has 500m/1 256Mi/512Mi`. */
  has(name: string): string {
    const status = this.pod(name)?.status?.containerStatuses?.[0];
    const { cpu = '-', memory = '-' } = status?.allocatedResources ?? {};
    const { limits, requests } = status?.resources ?? {};
    const pair = (resource: string): string => `${requests?.[resource] ?? '-'}/${limits?.[resource] ?? '-'}`;
    return `allocated ${cpu} ${memory}, has ${pair('cpu')} ${pair('memory')}`;
  }

  /** The UpdateContainerResources calls. */
  updates(): readonly string[] {
    return this.node.cri.calls.flatMap(({ method, request }) => {
      if (method.toLowerCase() !== 'updatecontainerresources') return [];
      const { linux } = request as { linux?: Record<string, bigint | undefined> };
      const { cpuQuota, cpuShares, memoryLimitInBytes } = linux ?? {};
      return `shares ${cpuShares} quota ${cpuQuota ?? 0} memory ${memoryLimitInBytes ?? 0}`;
    });
  }

  podCgroup(name: string): object | undefined {
    const uid = this.pod(name)?.metadata?.uid;
    const path = [...this.node.cgroups.groups.keys()].find((each) => each.endsWith(`pod${uid}`));
    const { cpuQuotaUs, cpuShares, memoryLimitBytes } = this.node.cgroups.settings(path ?? '') ?? {};
    return { cpuShares, cpuQuotaUs, memoryLimitBytes };
  }

  eventLines(name: string): readonly string[] {
    return this.node
      .eventLines(this.pod(name)?.metadata?.uid ?? '')
      .filter((line) => line.startsWith('Resize'));
  }

  /** The events about state files since the start of the kubelet. */
  recoveries(): readonly string[] {
    return this.node.eventLines('n').filter((line) => line.startsWith('ManagerStateRecovered'));
  }

  explanation(name: string): string | undefined {
    return this.node.explanation(this.pod(name)?.metadata?.uid ?? '');
  }

  restarts(name: string): number | undefined {
    return this.pod(name)?.status?.containerStatuses?.[0]?.restartCount;
  }
}

function words({ type, reason = '', message = '', observedGeneration }: PodCondition): string {
  return `${type} ${observedGeneration}${reason === '' ? '' : ` ${reason}: ${message}`}`;
}

function resources(amounts: string): NonNullable<Container['resources']> {
  const [cpu = '', memory = ''] = amounts.split(' ').map((pair) => pair.split('/'));
  const [cpuRequest = '', cpuLimit] = cpu;
  const [memoryRequest = '', memoryLimit] = memory;
  return {
    requests: { cpu: cpuRequest, memory: memoryRequest },
    ...(cpuLimit === undefined && memoryLimit === undefined
      ? {}
      : { limits: { ...(cpuLimit && { cpu: cpuLimit }), ...(memoryLimit && { memory: memoryLimit }) } }),
  };
}

const mi = 1024n * 1024n;

test('a resize is admitted, actuated without a restart, and reported', async () => {
  const scene = await Scene.open();
  await scene.runs('web', '500m/1 256Mi/512Mi');
  expect(scene.has('web')).toBe('allocated 500m 256Mi, has 500m/1 256Mi/512Mi');
  expect(scene.updates()).toEqual([]);
  scene.resize('web', '750m/1500m 512Mi/1Gi');
  await scene.advance(3_000);
  expect(scene.has('web')).toBe('allocated 750m 512Mi, has 750m/1500m 512Mi/1Gi');
  expect(scene.updates()).toEqual([
    'shares 512 quota 100000 memory 1073741824',
    'shares 768 quota 150000 memory 1073741824',
  ]);
  expect(scene.podCgroup('web')).toEqual({
    cpuShares: 768n,
    cpuQuotaUs: 150_000n,
    memoryLimitBytes: 1024n * mi,
  });
  expect([scene.conditions('web'), scene.restarts('web'), scene.phase('web')]).toEqual([[], 0, 'Running']);
  const summary =
    '{"containers":[{"name":"c","resources":{"limits":{"cpu":"1500m","memory":"1Gi"},"requests":{"cpu":"750m","memory":"512Mi"}}}],"generation":2}';
  expect(scene.eventLines('web')).toEqual([
    `ResizeStarted: Pod resize started: ${summary}`,
    `ResizeCompleted: Pod resize completed: ${summary}`,
  ]);
  expect(scene.pod('web')?.status?.observedGeneration).toBe(2);
});

test('the pod cgroup grows before its container, and shrinks after it', async () => {
  const scene = await Scene.open();
  await scene.runs('web', '1/1 512Mi/512Mi');
  const seen = watchOrder(scene, 'web');
  scene.resize('web', '1/1 1Gi/1Gi');
  await scene.advance(2_000);
  expect(seen()).toEqual(['pod memory', 'container']);
  scene.resize('web', '500m/500m 256Mi/256Mi');
  await scene.advance(2_000);
  expect(seen()).toEqual(['container', 'pod memory', 'container', 'pod shares', 'pod quota']);
  expect(scene.podCgroup('web')).toEqual({
    cpuShares: 512n,
    cpuQuotaUs: 50_000n,
    memoryLimitBytes: 256n * mi,
  });
});

/** Returns the writes to the pod's cgroup and the runtime calls since the last call, in order. */
function watchOrder(scene: Scene, name: string): () => readonly string[] {
  const { cgroups } = scene.node;
  const uid = scene.pod(name)?.metadata?.uid ?? '';
  const update = cgroups.update.bind(cgroups);
  const order: string[] = [];
  let updates = scene.updates().length;
  const takeUpdates = (): void => {
    for (; updates < scene.updates().length; updates++) order.push('container');
  };
  cgroups.update = async (group, settings) => {
    takeUpdates();
    const what =
      settings.memoryLimitBytes === undefined
        ? settings.cpuShares === undefined
          ? 'quota'
          : 'shares'
        : 'memory';
    if (group.at(-1) === `pod${uid}`) order.push(`pod ${what}`);
    await update(group, settings);
  };
  return () => {
    takeUpdates();
    return order.splice(0);
  };
}

test('RestartContainer recreates only that container, with the new resources', async () => {
  const scene = await Scene.open();
  const resizePolicy = [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }];
  await scene.runs('web', '500m/1 256Mi/512Mi', { container: { resizePolicy } });
  scene.resize('web', '750m/1 256Mi/512Mi');
  await scene.advance(3_000);
  expect([scene.restarts('web'), scene.updates().length]).toEqual([0, 1]);
  scene.resize('web', '750m/1 256Mi/1Gi');
  await scene.advance(40_000);
  expect([scene.restarts('web'), scene.updates().length]).toEqual([1, 1]);
  expect(scene.has('web')).toBe('allocated 750m 256Mi, has 750m/1 256Mi/1Gi');
  expect(scene.podCgroup('web')).toMatchObject({ memoryLimitBytes: 1024n * mi });
  expect([scene.conditions('web'), scene.eventLines('web').length]).toEqual([[], 4]);
});

test('a sidecar is resized like a regular container', async () => {
  const scene = await Scene.open();
  const proxy = aContainer({
    name: 'proxy',
    restartPolicy: 'Always',
    resources: resources('100m/200m 64Mi/64Mi'),
  });
  await scene.runs('web', '500m/1 256Mi/512Mi', { initContainers: [proxy] });
  scene.resize('web', '200m/400m 64Mi/64Mi', 'proxy', 'initContainers');
  await scene.advance(3_000);
  const [status] = scene.pod('web')?.status?.initContainerStatuses ?? [];
  expect([status?.resources?.requests?.cpu, status?.resources?.limits?.cpu]).toEqual(['200m', '400m']);
  expect(status?.restartCount).toBe(0);
});

test('a resize beyond the capacity is Deferred, and reverting it clears the condition', async () => {
  const scene = await Scene.open();
  await scene.runs('web', '500m/1 256Mi/512Mi');
  scene.resize('web', '3/4 256Mi/512Mi');
  await scene.advance(3_000);
  expect(scene.conditions('web')).toEqual([
    "PodResizePending 2 Deferred: Node didn't have enough resource: cpu, requested: 3000, used: 0, capacity: 2000",
  ]);
  expect(scene.eventLines('web')).toEqual([
    'ResizeDeferred: Pod resize OutOfcpu: {"containers":[{"name":"c","resources":{"limits":{"cpu":"4","memory":"512Mi"},"requests":{"cpu":"3","memory":"256Mi"}}}],"generation":2,"error":"Node didn\'t have enough resource: cpu, requested: 3000, used: 0, capacity: 2000"}',
  ]);
  expect(scene.has('web')).toBe('allocated 500m 256Mi, has 500m/1 256Mi/512Mi');
  expect(scene.pod('web')?.status?.observedGeneration).toBe(2);
  scene.resize('web', '500m/1 256Mi/512Mi');
  await scene.advance(3_000);
  expect([scene.conditions('web'), scene.updates()]).toEqual([[], []]);
});

test('a resize beyond the eviction threshold is Deferred', async () => {
  const scene = await Scene.open({ config: { evictionHard: { 'memory.available': '100Mi' } } });
  await scene.runs('web', '500m/1 256Mi/512Mi');
  scene.resize('web', '500m/1 7600Mi/8Gi');
  await scene.advance(3_000);
  expect(scene.conditions('web')).toEqual([
    `PodResizePending 2 Deferred: Node didn't have enough resource: memory, requested: ${7600n * mi}, used: 0, capacity: ${8_000_000_000n - 100n * mi}`,
  ]);
});

test('a deferred resize is admitted when another pod ends', async () => {
  const scene = await Scene.open();
  await scene.runs('web', '500m/1 256Mi/512Mi');
  await scene.runs('other', '1/1 256Mi/256Mi');
  scene.resize('web', '1500m/2 256Mi/512Mi');
  await scene.advance(3_000);
  expect(scene.conditions('web')).toEqual([
    "PodResizePending 2 Deferred: Node didn't have enough resource: cpu, requested: 1500, used: 1000, capacity: 2000",
  ]);
  expect(scene.updates()).toEqual([]);
  expect(scene.explanation('web')).toBe(
    "its resize is deferred: Node didn't have enough resource: cpu, requested: 1500, used: 1000, capacity: 2000",
  );
  scene.delete('other', 1);
  await scene.advance(10_000);
  expect(scene.has('web')).toBe('allocated 1500m 256Mi, has 1500m/2 256Mi/512Mi');
  expect(scene.conditions('web')).toEqual([]);
});

test('deferred resizes are admitted by priority, then by QoS class', async () => {
  const scene = await Scene.open();
  await scene.runs('low', '300m/1 64Mi/64Mi');
  await scene.runs('exact', '300m/300m 64Mi/64Mi');
  await scene.runs('high', '300m/1 64Mi/64Mi', { priority: 1000 });
  await scene.runs('filler', '1/1 64Mi/64Mi');
  for (const name of ['low', 'exact', 'high']) {
    scene.resize(name, name === 'exact' ? '700m/700m 64Mi/64Mi' : '700m/1 64Mi/64Mi');
    await scene.advance(2_000);
  }
  const waiting = (): readonly string[] =>
    ['low', 'exact', 'high'].filter((name) =>
      scene.conditions(name).some((each) => each.includes('Deferred')),
    );
  expect(waiting()).toEqual(['low', 'exact', 'high']);
  scene.resize('filler', '600m/600m 64Mi/64Mi');
  await scene.advance(3_000);
  expect(waiting()).toEqual(['low', 'exact']);
  scene.resize('filler', '200m/200m 64Mi/64Mi');
  await scene.advance(3_000);
  expect(waiting()).toEqual(['low']);
});

test('a memory limit below the current usage is retried until the usage has dropped', async () => {
  const scene = await Scene.open();
  await scene.runs('web', '500m/1 256Mi/512Mi');
  scene.node.cri.setUsage('c', { workingSetBytes: 300 << 20 });
  scene.resize('web', '500m/1 128Mi/256Mi');
  await scene.advance(3_000);
  expect(scene.conditions('web')).toEqual([
    `PodResizeInProgress 2 Error: cannot decrease memory limits: attempting to set container "c" memory limit (${256n * mi}) below current usage (${300n * mi})`,
  ]);
  expect([scene.updates(), scene.phase('web')]).toEqual([[], 'Running']);
  expect(scene.explanation('web')).toMatch(/^it is being resized; the last attempt failed: cannot decrease/);
  // The status reports the allocated and the actual resources.
  expect(scene.has('web')).toBe('allocated 500m 128Mi, has 500m/1 256Mi/512Mi');
  scene.node.cri.setUsage('c', { workingSetBytes: 100 << 20 });
  await scene.advance(15_000);
  expect([scene.conditions('web'), scene.has('web')]).toEqual([
    [],
    'allocated 500m 128Mi, has 500m/1 128Mi/256Mi',
  ]);
});

test('a kubelet killed during a resize completes it after a restart, without restarting the container', async () => {
  const scene = await Scene.open();
  await scene.runs('web', '500m/1 256Mi/512Mi');
  const stall = scene.node.cri.faults.stall('updateContainerResources');
  scene.resize('web', '750m/1500m 512Mi/1Gi');
  await scene.advance(2_000);
  expect(scene.conditions('web')).toEqual(['PodResizeInProgress 2']);
  await scene.node.kill();
  stall.release();
  await scene.node.start();
  await scene.advance(5_000);
  expect(scene.has('web')).toBe('allocated 750m 512Mi, has 750m/1500m 512Mi/1Gi');
  expect([scene.conditions('web'), scene.restarts('web'), scene.eventLines('web').length]).toEqual([
    [],
    0,
    1,
  ]);
});

test('a resize requested while the kubelet is down is decided by the next one, from the checkpointed allocation', async () => {
  const scene = await Scene.open();
  await scene.runs('web', '500m/1 256Mi/512Mi');
  await scene.runs('other', '1/1 256Mi/256Mi');
  await scene.node.stop();
  scene.resize('web', '1500m/2 256Mi/512Mi');
  await scene.node.start();
  await scene.advance(5_000);
  expect(scene.conditions('web')[0]).toContain('Deferred');
  expect([scene.phase('web'), scene.phase('other'), scene.updates()]).toEqual(['Running', 'Running', []]);
});

test('a node that shrank between two starts rejects what no longer fits, as upstream, and the rest keeps running', async () => {
  const scene = await Scene.open();
  await scene.runs('first', '1/1 256Mi/256Mi');
  await scene.runs('second', '900m/900m 256Mi/256Mi');
  await scene.node.stop();
  scene.node.capacity = { cpus: 1, memoryBytes: 8_000_000_000n };
  await scene.node.start();
  await scene.advance(40_000);
  expect(new Set([scene.phase('first'), scene.phase('second')])).toEqual(new Set(['Failed', 'Running']));
});

test('a kubelet restart does not touch an allocated pod, and both checkpoints hold its allocation', async () => {
  const scene = await Scene.open();
  await scene.runs('web', '500m/1 256Mi/512Mi');
  await scene.node.kill();
  await scene.node.start();
  await scene.advance(5_000);
  expect([scene.updates(), scene.restarts('web'), scene.conditions('web')]).toEqual([[], 0, []]);
  const uid = scene.pod('web')?.metadata?.uid;
  const data = `{"entries":{"${uid}":{"ContainerResources":{"c":{"limits":{"cpu":"1","memory":"512Mi"},"requests":{"cpu":"500m","memory":"256Mi"}}},"PodLevelResources":null,"EmptyDirVolumeLimits":null}}}`;
  for (const name of ['allocated_pods_state', 'actuated_pods_state']) {
    const text = scene.node.stateFiles.get(`/var/lib/kubelet/${name}`) ?? '{}';
    expect((JSON.parse(text) as { data: string }).data).toBe(data);
  }
  scene.delete('web', 1);
  await scene.advance(40_000);
  expect(scene.node.stateFiles.get('/var/lib/kubelet/allocated_pods_state')).toContain('"data":"{}"');
});

test('a pod removed while the kubelet is down leaves the checkpoints, and a resize reverted meanwhile is not reported', async () => {
  const scene = await Scene.open();
  await scene.runs('gone', '100m/1 64Mi/64Mi');
  await scene.runs('web', '500m/1 256Mi/512Mi');
  scene.resize('web', '3/4 256Mi/512Mi');
  await scene.advance(3_000);
  expect(scene.conditions('web')).toHaveLength(1);
  await scene.node.stop();
  const uid = scene.pod('gone')?.metadata?.uid ?? 'none';
  scene.api.objects.delete('pods', 'default', 'gone', { gracePeriodSeconds: 0 });
  scene.resize('web', '500m/1 256Mi/512Mi');
  await scene.node.start();
  await scene.advance(40_000);
  expect(scene.conditions('web')).toEqual([]);
  const current = [...scene.node.stateFiles].filter(([path]) => !path.endsWith('.previous'));
  expect(current.join('')).not.toContain(uid);
});

test('a static pod with its own UID is resized in place, too', async () => {
  const scene = await Scene.open();
  const write = (cpu: string): void =>
    scene.node.write(
      'p.yaml',
      aPod({ uid: 'uid-own', containers: [aContainer({ resources: { requests: { cpu } } })] }),
    );
  const shares = (): bigint | undefined => {
    const path = [...scene.node.cgroups.groups.keys()].find((each) => each.endsWith('poduid-own'));
    return scene.node.cgroups.settings(path ?? '')?.cpuShares;
  };
  write('100m');
  await scene.advance(3_000);
  write('200m');
  await scene.advance(3_000);
  const conditions = (): readonly string[] =>
    (scene.node.status('uid-own')?.conditions ?? [])
      .filter(({ type }) => type.startsWith('PodResize'))
      .map(words);
  expect([shares(), conditions(), scene.updates()]).toEqual([204n, [], ['shares 204 quota 0 memory 0']]);
});

test('missing checkpoints do not disturb running pods', async () => {
  const scene = await Scene.open();
  await scene.runs('web', '500m/1 256Mi/512Mi');
  await scene.node.stop();
  scene.node.stateFiles.clear();
  await scene.node.start();
  await scene.advance(5_000);
  expect([scene.updates(), scene.restarts('web'), scene.conditions('web'), scene.eventLines('web')]).toEqual([
    [],
    0,
    [],
    [],
  ]);
});

for (const damaged of [
  ['allocated_pods_state'],
  ['actuated_pods_state'],
  ['allocated_pods_state', 'actuated_pods_state'],
])
  test(`damaged files do not disturb running pods, and each is reported once: ${damaged.join(', ')}`, async () => {
    const scene = await Scene.open();
    const restart = [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }] as const;
    await scene.runs('web', '500m/1 256Mi/512Mi', { container: { resizePolicy: [...restart] } });
    await scene.node.stop();
    for (const name of damaged) scene.node.stateFiles.set(`/var/lib/kubelet/${name}`, '{"data":"{');
    await scene.node.start();
    await scene.advance(5_000);
    expect([scene.updates(), scene.restarts('web'), scene.conditions('web')]).toEqual([[], 0, []]);
    expect(scene.has('web')).toBe('allocated 500m 256Mi, has 500m/1 256Mi/512Mi');
    expect(scene.recoveries()).toHaveLength(damaged.length);
    await scene.node.stop();
    await scene.node.start();
    await scene.advance(2_000);
    expect(scene.recoveries()).toEqual([]);
  });

test('a completed resize is not reverted when the file of allocations is damaged, and a deferred one stays deferred', async () => {
  const scene = await Scene.open();
  await scene.runs('web', '500m/1 256Mi/512Mi');
  scene.resize('web', '750m/1 256Mi/512Mi');
  await scene.advance(5_000);
  scene.resize('web', '3/4 256Mi/512Mi');
  await scene.advance(5_000);
  const before = [scene.has('web'), scene.conditions('web'), scene.updates()];
  expect(scene.has('web')).toContain('allocated 750m');
  await scene.node.stop();
  scene.node.stateFiles.set('/var/lib/kubelet/allocated_pods_state', '');
  await scene.node.start();
  await scene.advance(5_000);
  expect([scene.has('web'), scene.conditions('web'), scene.updates()]).toEqual(before);
});

test('without the feature gate a changed spec has no effect, and no checkpoint is written', async () => {
  const scene = await Scene.open({ gates: { InPlacePodVerticalScaling: false } });
  await scene.runs('web', '500m/1 256Mi/512Mi');
  scene.change('web', (pod) => ({
    ...pod,
    spec: { ...pod.spec, containers: [aContainer({ resources: resources('750m/1 256Mi/512Mi') })] },
  }));
  await scene.advance(5_000);
  expect([
    scene.updates(),
    scene.conditions('web'),
    [...scene.node.stateFiles.keys()].filter((each) => each.endsWith('pods_state')),
  ]).toEqual([[], [], []]);
});
