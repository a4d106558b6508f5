// The services without a socket: handlers over stores and views, on the fake clock.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { aContainer, aPod } from '../../test/builders/builders.ts';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import type { Pod } from '../api/k8s/types.ts';
import {
  AllocatableResourcesResponse,
  GetPodResourcesResponse,
  ListPodResourcesResponse,
  type PodResources,
  type PodResourcesListerDefinition as V1,
} from '../api/kubelet/generated/podresources/v1/api.ts';
import {
  ListPodResourcesResponse as AlphaListResponse,
  type PodResourcesListerDefinition as V1alpha1,
} from '../api/kubelet/generated/podresources/v1alpha1/api.ts';
import { type EncodedMessage, RpcFailure, type RpcHandlers } from '../api/kubelet/rpc-service.ts';
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import { asPodUid, type PodUid } from '../api/pod/pod-ref.ts';
import { startComponent } from '../base/component.ts';
import { silentLogger } from '../base/log/log.ts';
import { Metrics } from '../base/metrics.ts';
import { PodResourcesApi } from './pod-resources-api.ts';
import { PodResourcesMetrics } from './pod-resources-metrics.ts';
import { type HeldDevice, type HeldMemory, noResources } from './resource-views.ts';

const call = { signal: new AbortController().signal };

const sidecar = aContainer({ name: 'side', restartPolicy: 'Always' });

describe('podresources', () => {
  let clock: FakeClock;
  let registry: Metrics;
  let pods: Map<PodUid, Pod>;
  let lifecycles: Map<PodUid, PodLifecycle>;
  /** By `uid/container`; allocatable ones by `node`. */
  let devices: Map<string, readonly HeldDevice[]>;
  let cpus: Map<string, readonly number[]>;
  let memory: Map<string, readonly HeldMemory[]>;
  let v1: RpcHandlers<typeof V1>;
  let v1alpha1: RpcHandlers<typeof V1alpha1>;
  let stop: () => Promise<void>;
  let onPause: () => void;
  /** How far each read moves the monotonic clock. */
  let stepMs: number;

  async function start(listActivePods = true): Promise<void> {
    let elapsedMs = 0;
    const abort = new AbortController();
    const api = new PodResourcesApi({
      stores: {
        desired: {
          all: () => [...pods].map(([uid, pod]) => ({ uid, pod })),
          get: (uid) => {
            const pod = pods.get(uid);
            return pod === undefined ? undefined : { uid, pod };
          },
        },
        lifecycles,
      },
      views: {
        devices: {
          devicesOf: (uid, container) => devices.get(`${uid}/${container}`) ?? [],
          allocatableDevices: () => devices.get('node') ?? [],
        },
        cpus: {
          exclusiveCpus: (uid, container) => cpus.get(`${uid}/${container}`) ?? [],
          allocatable: () => cpus.get('node') ?? [],
        },
        memory: {
          blocks: (uid, container) => memory.get(`${uid}/${container}`) ?? [],
          allocatable: () => memory.get('node') ?? [],
        },
      },
      listActivePods,
      rootDir: '/root-dir',
      listen: async ({ path, services }) => {
        expect(path).toBe('/root-dir/pod-resources/kubelet.sock');
        v1 = services[0]?.handlers as unknown as typeof v1;
        v1alpha1 = services[1]?.handlers as unknown as typeof v1alpha1;
        return { close: async () => undefined };
      },
      pause: async () => onPause(),
      metrics: new PodResourcesMetrics(registry),
      clock: {
        now: () => clock.now(),
        monotonic: () => {
          elapsedMs += stepMs;
          return clock.monotonic() + elapsedMs;
        },
        setTimer: (ms, fn) => clock.setTimer(ms, fn),
        sleep: (ms, signal) => clock.sleep(ms, signal),
      },
      log: silentLogger,
    });
    const { stopped } = await startComponent(api, abort.signal);
    stop = async () => {
      abort.abort();
      await stopped;
    };
  }

  beforeEach(async () => {
    clock = new FakeClock();
    registry = new Metrics();
    pods = new Map();
    lifecycles = new Map();
    devices = new Map();
    cpus = new Map();
    memory = new Map();
    stepMs = 0;
    onPause = () => undefined;
    await start();
  });
  afterEach(() => stop());

  function put(...added: readonly Pod[]): void {
    for (const pod of added) pods.set(asPodUid(pod.metadata?.uid ?? ''), pod);
  }

  const bytesOf = (message: unknown): Uint8Array => Buffer.concat((message as EncodedMessage).pieces);

  /** `namespace/name container:device+device[cpus]{memory}` */
  function podLine({ containers, name, namespace }: PodResources): string {
    const shown = containers.map((each) => {
      const held = each.devices.map(({ deviceIds }) => deviceIds.join('|')).join('+');
      const mem = each.memory.map(({ memoryType, size }) => `${memoryType}=${size}`).join();
      return `${each.name}:${held}[${each.cpuIds.join()}]{${mem}}`;
    });
    return [`${namespace}/${name}`, ...shown].join(' ');
  }

  async function list(): Promise<readonly string[]> {
    return ListPodResourcesResponse.decode(bytesOf(await v1.list({}, call))).podResources.map(podLine);
  }

  async function get(podNamespace: string, podName: string): Promise<string> {
    const message = await v1.get({ podNamespace, podName }, call);
    const { podResources } = GetPodResourcesResponse.decode(bytesOf(message));
    return podResources === undefined ? 'none' : podLine(podResources);
  }

  async function failureOf(work: Promise<unknown>): Promise<string> {
    const err = await work.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    return err instanceof RpcFailure ? `${err.code}: ${err.message}` : String(err);
  }

  const counted = (): readonly string[] =>
    registry
      .render()
      .split('\n')
      .filter((line) => line.startsWith('kubelet_pod_resources_endpoint_'));

  test('List reports the devices, exclusive CPUs and memory of every container, sorted by namespace and name', async () => {
    put(
      aPod({ name: 'b', containers: [aContainer({ name: 'x' }), aContainer({ name: 'y' })] }),
      aPod({ name: 'a' }),
      aPod({ name: 'z', namespace: 'alpha' }),
    );
    devices.set('uid-b/x', [
      { resource: 'v/gpu', id: 'g2', numaNodes: [0] },
      { resource: 'v/gpu', id: 'g1', numaNodes: undefined },
    ]);
    cpus.set('uid-b/x', [3, 1]);
    memory.set('uid-b/x', [{ type: 'memory', size: 1024n, numaAffinity: [0] }]);
    expect(await list()).toEqual([
      'alpha/z c:[]{}',
      'default/a c:[]{}',
      'default/b x:g1+g2[1,3]{memory=1024} y:[]{}',
    ]);
  });

  test('lists sidecars before containers, and plain init containers never', async () => {
    put(
      aPod({
        initContainers: [aContainer({ name: 'init' }), sidecar],
        containers: [aContainer({ name: 'app' })],
      }),
    );
    devices.set('uid-p/init', [{ resource: 'v/gpu', id: 'g1', numaNodes: undefined }]);
    devices.set('uid-p/side', [{ resource: 'v/gpu', id: 'g2', numaNodes: undefined }]);
    expect(await list()).toEqual(['default/p side:g2[]{} app:[]{}']);
    expect(await get('default', 'p')).toBe('default/p side:g2[]{} app:[]{}');
  });

  test('the answer is, byte for byte, the serialized message', async () => {
    put(
      aPod({ name: 'a', containers: [aContainer({ name: 'x' }), aContainer({ name: 'y' })] }),
      aPod({ name: 'b' }),
    );
    const many = Array.from({ length: 700 }, (_, at) => ({
      resource: 'v/gpu',
      id: `gpu-${at}`,
      numaNodes: at % 3 === 0 ? [0, 1] : undefined,
    }));
    devices.set('uid-a/x', many);
    devices.set('node', many);
    cpus.set('uid-a/y', [0, 300]);
    cpus.set('node', [0, 1]);
    memory.set('uid-a/y', [{ type: 'memory', size: 0, numaAffinity: [] }]);
    memory.set('node', [{ type: 'memory', size: 2 ** 40, numaAffinity: [0] }]);
    const listed = bytesOf(await v1.list({}, call));
    const decoded = ListPodResourcesResponse.decode(listed);
    expect(decoded.podResources[0]?.containers[0]?.devices).toHaveLength(700 + 234);
    expect(Buffer.from(ListPodResourcesResponse.encode(decoded).finish()).equals(listed)).toBe(true);
    const node = bytesOf(await v1.getAllocatableResources({}, call));
    const whole = AllocatableResourcesResponse.decode(node);
    expect(whole.devices).toHaveLength(700 + 234);
    expect(Buffer.from(AllocatableResourcesResponse.encode(whole).finish()).equals(node)).toBe(true);
  });

  test('List omits pods that have ended, unless the gate for active pods is off', async () => {
    put(aPod({ name: 'on' }), aPod({ name: 'ended' }), {
      ...aPod({ name: 'failed' }),
      status: { phase: 'Failed' },
    });
    lifecycles.set(asPodUid('uid-ended'), { state: 'terminated' } as PodLifecycle);
    expect(await list()).toEqual(['default/on c:[]{}']);
    await stop();
    registry = new Metrics();
    await start(false);
    expect(await list()).toEqual(['default/ended c:[]{}', 'default/failed c:[]{}', 'default/on c:[]{}']);
  });

  test('GetAllocatableResources reports what the node has, sorted', async () => {
    devices.set('node', [
      { resource: 'v/nic', id: 'n', numaNodes: undefined },
      { resource: 'v/gpu', id: 'g', numaNodes: [1] },
    ]);
    cpus.set('node', [7, 2]);
    memory.set('node', [
      { type: 'memory', size: 5, numaAffinity: [1] },
      { type: 'memory', size: 4, numaAffinity: [0] },
    ]);
    const bytes = bytesOf(await v1.getAllocatableResources({}, call));
    const { devices: shown, cpuIds, memory: blocks } = AllocatableResourcesResponse.decode(bytes);
    expect(shown.map(({ resourceName, topology }) => [resourceName, topology?.nodes.length])).toEqual([
      ['v/gpu', 1],
      ['v/nic', undefined],
    ]);
    expect(cpuIds).toEqual([2n, 7n]);
    expect(blocks.map(({ size }) => size)).toEqual([4n, 5n]);
  });

  test('Get fails with code Unknown for pods that do not exist or have ended', async () => {
    put(aPod({ name: 'ended' }));
    lifecycles.set(asPodUid('uid-ended'), { state: 'terminated' } as PodLifecycle);
    expect(await failureOf(get('default', 'ended'))).toBe(
      'UNKNOWN: pod ended in namespace default not found',
    );
    expect(await failureOf(get('kube-system', 'nope'))).toBe(
      'UNKNOWN: pod nope in namespace kube-system not found',
    );
  });

  test('Get finds the active one of two pods with the same name', async () => {
    put(aPod({ uid: 'new' }), aPod({ uid: 'old' }));
    lifecycles.set(asPodUid('old'), { state: 'terminated' } as PodLifecycle);
    cpus.set('new/c', [1]);
    expect(await get('default', 'p')).toBe('default/p c:[1]{}');
  });

  test('List of v1alpha1 reports devices of regular containers of all pods, without topology', async () => {
    put(aPod({ initContainers: [sidecar] }), aPod({ name: 'ended' }));
    lifecycles.set(asPodUid('uid-ended'), { state: 'terminated' } as PodLifecycle);
    devices.set('uid-p/c', [{ resource: 'v/gpu', id: 'g', numaNodes: [0, 1] }]);
    cpus.set('uid-p/c', [1]);
    const bytes = bytesOf(await v1alpha1.list({}, call));
    const decoded = AlphaListResponse.decode(bytes);
    const entry = { resourceName: 'v/gpu', deviceIds: ['g'] };
    expect(decoded.podResources).toEqual([
      { name: 'ended', namespace: 'default', containers: [{ name: 'c', devices: [] }] },
      { name: 'p', namespace: 'default', containers: [{ name: 'c', devices: [entry, entry] }] },
    ]);
    expect(Buffer.from(AlphaListResponse.encode(decoded).finish()).equals(bytes)).toBe(true);
  });

  test('one rate limit holds for all calls of both versions', async () => {
    const calls = [
      () => v1.list({}, call),
      () => v1.getAllocatableResources({}, call),
      () => v1alpha1.list({}, call),
    ];
    for (let at = 0; at < 10; at++) await calls[at % 3]?.();
    expect(await failureOf(list())).toBe('RESOURCE_EXHAUSTED: rejected by rate limit');
    await clock.advance(10);
    expect(await list()).toEqual([]);
  });

  test('counts requests and errors by version as upstream, rejected calls not at all', async () => {
    await v1.list({}, call);
    await v1alpha1.list({}, call);
    await v1.getAllocatableResources({}, call);
    await failureOf(get('a', 'b'));
    for (let at = 0; at < 20; at++) await failureOf(v1.list({}, call));
    expect(counted()).toEqual([
      'kubelet_pod_resources_endpoint_errors_get{server_api_version="v1"} 1',
      'kubelet_pod_resources_endpoint_requests_get{server_api_version="v1"} 1',
      'kubelet_pod_resources_endpoint_requests_get_allocatable{server_api_version="v1"} 1',
      'kubelet_pod_resources_endpoint_requests_list{server_api_version="v1"} 7',
      'kubelet_pod_resources_endpoint_requests_total{server_api_version="v1"} 9',
      'kubelet_pod_resources_endpoint_requests_total{server_api_version="v1alpha1"} 1',
    ]);
  });

  test('pauses between slices, and drops a pod that ends meanwhile', async () => {
    put(aPod({ name: 'a' }), aPod({ name: 'b' }));
    stepMs = 2;
    let pauses = 0;
    onPause = () => {
      pauses += 1;
      pods.delete(asPodUid('uid-b'));
    };
    expect(await list()).toEqual(['default/a c:[]{}']);
    expect(pauses).toBeGreaterThan(0);
  });
});

test('a socket that cannot be created does not stop the kubelet', async () => {
  const errors: string[] = [];
  const log = { ...silentLogger, error: (message: string) => errors.push(message) };
  const clock = new FakeClock();
  const api = new PodResourcesApi({
    stores: { desired: { all: () => [], get: () => undefined }, lifecycles: { get: () => undefined } },
    views: noResources,
    listActivePods: true,
    rootDir: '/r',
    listen: () => Promise.reject(new Error('path too long')),
    pause: async () => undefined,
    metrics: new PodResourcesMetrics(new Metrics()),
    clock,
    log,
  });
  const abort = new AbortController();
  const { stopped } = await startComponent(api, abort.signal);
  abort.abort();
  await stopped;
  expect(errors).toEqual(['Failed to serve the pod resources API']);
});
