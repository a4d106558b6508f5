// In-place resize of pod-level resources and of init containers in memory, with a runtime that may refuse, a kernel that may
// refuse, and a kubelet that is killed in between. The first case is the recording of the Go kubelet v1.37.
import { expect, onTestFinished, test } from 'vitest';
import type { PodStatus, ResourceRequirements } from '../../../src/api/k8s/types.ts';
import { fnv1a32 } from '../../../src/api/pod/fnv.ts';
import { KubeletError } from '../../../src/base/errors.ts';
import { aContainer, type PodOver } from '../../builders/builders.ts';
import { ClusterWorld } from '../../simulate/cluster-world.ts';

const mi = 1024 * 1024;
const calls = ['UpdatePodSandboxResources', 'UpdateContainerResources'];

class Scene extends ClusterWorld {
  static async open(options: ConstructorParameters<typeof ClusterWorld>[0] = {}): Promise<Scene> {
    const scene = new Scene(options);
    onTestFinished(() => scene.close());
    await scene.node.start();
    await scene.advance(2_000);
    return scene;
  }

  /** Runs a pod with these pod-level resources, and by default one container without any. */
  async runs(name: string, podLevel: string, over: PodOver = {}): Promise<void> {
    this.run(name, { resources: resources(podLevel), containers: [aContainer()], ...over });
    await this.advance(3_000);
  }

  resize(name: string, spec: object): void {
    this.api.objects.patch('pods', 'default', name, { spec }, 'resize');
  }

  uid(name: string): string {
    return this.pod(name)?.metadata?.uid ?? '';
  }

  status(name: string): PodStatus {
    return this.pod(name)?.status ?? {};
  }

  conditions(name: string): readonly string[] {
    const all = this.status(name).conditions ?? [];
    return all
      .filter(({ type }) => type.startsWith('PodResize'))
      .map(({ type, reason = '', message = '' }) => [type, reason, message].filter(Boolean).join(' '));
  }

  events(name: string): readonly string[] {
    return this.node.eventLines(this.uid(name)).filter((line) => line.startsWith('Resize'));
  }

  /** The resizing calls to the runtime: `UpdatePodSandboxResources quota shares memory`. */
  resizeCalls(): readonly string[] {
    return this.node.cri.calls.flatMap(({ method, request }) => {
      const call = calls.find((each) => each.toLowerCase() === method.toLowerCase());
      if (call === undefined) return [];
      const { linux, resources: sandbox } = request as Record<string, Record<string, bigint> | undefined>;
      const { cpuQuota, cpuShares, memoryLimitInBytes } = linux ?? sandbox ?? {};
      return `${call} ${cpuQuota} ${cpuShares} ${memoryLimitInBytes}`;
    });
  }

  cgroup(name: string): readonly (bigint | undefined)[] {
    const path = [...this.node.cgroups.groups.keys()].find((each) => each.endsWith(`pod${this.uid(name)}`));
    const { cpuQuotaUs, cpuShares, memoryLimitBytes } = this.node.cgroups.settings(path ?? '') ?? {};
    return [cpuQuotaUs, cpuShares, memoryLimitBytes];
  }

  cgroupPath(name: string): string {
    return [...this.node.cgroups.groups.keys()].find((each) => each.endsWith(`pod${this.uid(name)}`)) ?? '';
  }

  restarts(name: string): number | undefined {
    return this.status(name).containerStatuses?.[0]?.restartCount;
  }

  state(file: string): string {
    const text = this.node.stateFiles.get(`/var/lib/kubelet/${file}`) ?? '{"data":""}';
    return (JSON.parse(text) as { data: string }).data;
  }
}

/** `100m/200m 64Mi/128Mi`: requests before limits. */
function resources(amounts: string): ResourceRequirements {
  const [[cpu = '', cpuLimit = ''] = [], [memory = '', memoryLimit = ''] = []] = amounts
    .split(' ')
    .map((pair) => pair.split('/'));
  return { requests: { cpu, memory }, limits: { cpu: cpuLimit, memory: memoryLimit } };
}

const small = '100m/200m 64Mi/128Mi';
const large = '150m/300m 64Mi/192Mi';

test('pod-level resources are resized as recorded: calls, statuses, events', async () => {
  const scene = await Scene.open();
  const seen: string[] = [];
  scene.api.store.subscribe(() => {
    const { allocatedResources, phase, resources: has } = scene.status('web');
    const line = JSON.stringify([phase, scene.conditions('web'), allocatedResources, has]);
    if (seen.at(-1) !== line) seen.push(line);
  });
  await scene.runs('web', small);
  const running = JSON.stringify(['Running', [], resources(small).requests, sorted(small)]);
  expect(seen.at(-1)).toBe(running);
  scene.node.cri.faults.latency('updateContainerResources', 20);
  scene.resize('web', { resources: resources(large) });
  await scene.advance(3_000);
  expect(seen.slice(seen.indexOf(running))).toEqual([
    running,
    JSON.stringify(['Running', ['PodResizeInProgress'], resources(large).requests, sorted(small)]),
    JSON.stringify(['Running', [], resources(large).requests, sorted(large)]),
  ]);
  // The recording has 2 shares in both updates of the container; see docs/resize.md.
  expect(scene.resizeCalls()).toEqual([
    `UpdatePodSandboxResources 20000 102 ${192 * mi}`,
    `UpdateContainerResources 20000 204 ${192 * mi}`,
    `UpdatePodSandboxResources 30000 102 ${192 * mi}`,
    `UpdatePodSandboxResources 30000 153 ${192 * mi}`,
    `UpdateContainerResources 30000 307 ${192 * mi}`,
  ]);
  expect(scene.events('web')).toEqual([
    'ResizeStarted: Pod resize started: {"containers":[{"name":"c","resources":{}}],"generation":2}',
    'ResizeCompleted: Pod resize completed: {"containers":[{"name":"c","resources":{}}],"generation":2}',
  ]);
  const [container] = scene.status('web').containerStatuses ?? [];
  expect([container?.resources, container?.allocatedResources, container?.restartCount]).toEqual([
    {},
    undefined,
    0,
  ]);
  expect(scene.cgroup('web')).toEqual([30_000n, 153n, BigInt(192 * mi)]);
  const podLevel =
    '"PodLevelResources":{"limits":{"cpu":"300m","memory":"192Mi"},"requests":{"cpu":"150m","memory":"64Mi"}}';
  expect(scene.state('allocated_pods_state')).toContain(podLevel);
  expect(scene.state('actuated_pods_state')).toContain(
    `{"c":{"limits":{"cpu":"300m","memory":"192Mi"}}},${podLevel}`,
  );
});

function sorted(amounts: string): ResourceRequirements {
  const { limits, requests } = resources(amounts);
  return { limits: limits ?? {}, requests: requests ?? {} };
}

test('a pod shrinks its containers before itself', async () => {
  const scene = await Scene.open();
  await scene.runs('web', large);
  scene.resize('web', { resources: resources(small) });
  await scene.advance(3_000);
  expect(scene.resizeCalls()).toEqual([
    `UpdateContainerResources 30000 307 ${128 * mi}`,
    `UpdatePodSandboxResources 30000 153 ${128 * mi}`,
    `UpdateContainerResources 20000 204 ${128 * mi}`,
    `UpdatePodSandboxResources 30000 102 ${128 * mi}`,
    `UpdatePodSandboxResources 20000 102 ${128 * mi}`,
  ]);
  expect(scene.cgroup('web')).toEqual([20_000n, 102n, BigInt(128 * mi)]);
});

test('a pod that had none is given pod-level resources', async () => {
  const scene = await Scene.open();
  const own = resources('100m/100m 64Mi/64Mi');
  await scene.runs('web', small, { containers: [aContainer({ resources: own })] });
  scene.run('bare', { containers: [aContainer({ resources: resources(small) })] });
  await scene.advance(3_000);
  scene.resize('bare', { resources: resources(large) });
  await scene.advance(3_000);
  expect([scene.conditions('bare'), scene.cgroup('bare')]).toEqual([[], [30_000n, 153n, BigInt(192 * mi)]]);
  expect(scene.status('bare').resources).toEqual(sorted(large));
  // The container has limits of its own, so it is not updated.
  expect(scene.resizeCalls().filter((call) => call.startsWith('UpdateContainer'))).toEqual([]);
});

test('a pod-level resize that does not fit is deferred, then granted when a pod ends', async () => {
  const scene = await Scene.open();
  await scene.runs('web', small);
  await scene.runs('other', '1/1 64Mi/64Mi');
  scene.resize('web', { resources: resources('1500m/2 64Mi/128Mi') });
  await scene.advance(3_000);
  const why = "Node didn't have enough resource: cpu, requested: 1500, used: 1000, capacity: 2000";
  expect(scene.conditions('web')).toEqual([`PodResizePending Deferred ${why}`]);
  expect(scene.status('web').allocatedResources).toEqual({ cpu: '100m', memory: '64Mi' });
  expect(scene.events('web')).toEqual([
    `ResizeDeferred: Pod resize OutOfcpu: {"containers":[{"name":"c","resources":{}}],"generation":2,"error":"${why}"}`,
  ]);
  scene.delete('other', 1);
  await scene.advance(10_000);
  expect([scene.conditions('web'), scene.status('web').allocatedResources]).toEqual([
    [],
    { cpu: '1500m', memory: '64Mi' },
  ]);
});

test('a running init container is resized, one that has ended is not', async () => {
  const scene = await Scene.open();
  const init = aContainer({ name: 'init', resources: resources(small) });
  scene.run('web', { initContainers: [init], containers: [aContainer({ resources: resources(small) })] });
  await scene.advance(3_000);
  const initStatus = () => scene.status('web').initContainerStatuses?.[0];
  expect(initStatus()?.state?.running).toBeDefined();
  scene.resize('web', { initContainers: [{ ...init, resources: resources(large) }] });
  await scene.advance(3_000);
  expect([scene.conditions('web'), initStatus()?.resources]).toEqual([[], sorted(large)]);
  expect(initStatus()?.allocatedResources).toEqual(resources(large).requests);
  expect(scene.resizeCalls()).toEqual([
    `UpdatePodSandboxResources 20000 102 ${192 * mi}`,
    `UpdateContainerResources 20000 102 ${192 * mi}`,
    `UpdatePodSandboxResources 30000 102 ${192 * mi}`,
    `UpdatePodSandboxResources 30000 153 ${192 * mi}`,
    `UpdateContainerResources 30000 153 ${192 * mi}`,
  ]);
});

const refusals: readonly (readonly [string, string, string, boolean])[] = [
  ['UNIMPLEMENTED', 'unknown method UpdatePodSandboxResources', 'a runtime without the call', true],
  ['UNKNOWN', 'not implemented yet', 'containerd 2.2', true],
  ['UNKNOWN', 'refused by a plugin', 'a plugin of the runtime that refuses', false],
  ['FAILED_PRECONDITION', 'not implemented', 'a runtime that refuses for another reason', false],
];
for (const [code, text, name, isIgnored] of refusals)
  test(`the runtime is notified before the cgroup changes: ${name} ${isIgnored ? 'is ignored' : 'stops the resize'}`, async () => {
    const scene = await Scene.open();
    await scene.runs('web', small);
    const fault = scene.node.cri.faults.fail(
      'updatePodSandboxResources',
      new KubeletError('internal', code, text),
      { times: Number.POSITIVE_INFINITY },
    );
    scene.resize('web', { resources: resources(large) });
    await scene.advance(3_000);
    if (isIgnored) {
      expect([scene.conditions('web'), scene.cgroup('web')]).toEqual([[], [30_000n, 153n, BigInt(192 * mi)]]);
      return;
    }
    expect(scene.cgroup('web')).toEqual([20_000n, 102n, BigInt(128 * mi)]);
    expect(scene.conditions('web')[0]).toMatch(
      /^PodResizeInProgress Error failed to notify runtime for UpdatePodSandboxResources \(resource=memory\); resize rejected: updatePodSandboxResources failed for sanboxID "\S+": rpc error: code = \w+ desc = /,
    );
    expect(scene.events('web')).toHaveLength(2);
    expect(scene.events('web')[1]).toMatch(
      /^ResizeError: Pod resize error: .*"generation":2,"error":"failed to/,
    );
    expect(scene.status('web').resources).toEqual(sorted(small));
    fault.remove();
    await scene.advance(30_000);
    expect([scene.conditions('web'), scene.cgroup('web')]).toEqual([[], [30_000n, 153n, BigInt(192 * mi)]]);
    expect([scene.events('web').length, scene.restarts('web')]).toEqual([3, 0]);
  });

test('a cgroup that the kernel refuses to change is reported to the runtime with its old amounts', async () => {
  const scene = await Scene.open();
  await scene.runs('web', small);
  const path = scene.cgroupPath('web');
  scene.node.cgroups.faults.set(
    path,
    new KubeletError('invalid', 'EINVAL', 'cannot write memory.limit_in_bytes'),
  );
  scene.resize('web', { resources: resources(large) });
  await scene.advance(500);
  expect(scene.resizeCalls().slice(0, 2)).toEqual([
    `UpdatePodSandboxResources 20000 102 ${192 * mi}`,
    `UpdatePodSandboxResources 20000 102 ${128 * mi}`,
  ]);
  expect(scene.events('web')[1]).toContain('"error":"cannot write memory.limit_in_bytes"');
  await scene.advance(30_000);
  expect([scene.conditions('web'), scene.cgroup('web')]).toEqual([[], [30_000n, 153n, BigInt(192 * mi)]]);
});

for (const method of ['updatePodSandboxResources', 'updateContainerResources'] as const)
  for (const call of [1, 2])
    test(`a kubelet killed in call ${call} of ${method} completes the resize after its restart`, async () => {
      const scene = await Scene.open();
      await scene.runs('web', small);
      let count = 0;
      const stall = scene.node.cri.faults.stall(method, { match: () => ++count === call });
      scene.resize('web', { resources: resources(large) });
      await scene.advance(2_000);
      expect(stall.waiting).toBe(1);
      await scene.node.kill();
      stall.release();
      await scene.node.start();
      await scene.advance(5_000);
      expect([scene.conditions('web'), scene.cgroup('web'), scene.restarts('web')]).toEqual([
        [],
        [30_000n, 153n, BigInt(192 * mi)],
        0,
      ]);
      expect(scene.resizeCalls().at(-1)).toBe(`UpdateContainerResources 30000 307 ${192 * mi}`);
      expect(scene.status('web').resources).toEqual(sorted(large));
    });

test('a kubelet that finds the checkpoints of v1.34 neither resizes nor restarts a pod with pod-level resources', async () => {
  const scene = await Scene.open();
  await scene.runs('web', small);
  await scene.node.stop();
  for (const [path, text] of scene.node.stateFiles) {
    if (!path.endsWith('pods_state')) continue;
    scene.node.stateFiles.set(path, asWrittenBefore(text));
  }
  await scene.node.start();
  await scene.advance(5_000);
  expect([scene.resizeCalls(), scene.events('web'), scene.restarts('web'), scene.conditions('web')]).toEqual([
    [],
    [],
    0,
    [],
  ]);
  expect(scene.state('actuated_pods_state')).toContain('"PodLevelResources":{"limits"');
  expect(scene.state('allocated_pods_state')).toContain('"PodLevelResources":{"limits"');
});

/** The entries without the fields of later versions, and without the limits that containers have from their pod. */
function asWrittenBefore(text: string): string {
  const { entries } = JSON.parse((JSON.parse(text) as { data: string }).data) as {
    entries: Record<string, { ContainerResources: object }>;
  };
  const old = Object.entries(entries).map(([uid, { ContainerResources }]) => [
    uid,
    { ContainerResources: Object.fromEntries(Object.keys(ContainerResources).map((name) => [name, {}])) },
  ]);
  const data = JSON.stringify({ entries: Object.fromEntries(old) });
  return JSON.stringify({ data, checksum: fnv1a32(`(string)${data}`) });
}

test('without the gate a pod-level change is neither granted nor reported, and not recorded', async () => {
  const scene = await Scene.open({ gates: { InPlacePodLevelResourcesVerticalScaling: false } });
  await scene.runs('web', small);
  scene.resize('web', { resources: resources(large) });
  await scene.advance(3_000);
  expect([scene.resizeCalls(), scene.events('web'), scene.status('web').resources]).toEqual([
    [],
    [],
    undefined,
  ]);
  expect(scene.state('actuated_pods_state')).not.toContain('PodLevelResources');
});
