// The table from CRI methods to the parts of the fake runtime. Calls have passed the gate before.
// Invariant: a method of the CRI without a row does not compile.

import { CgroupDriver } from '../../src/api/cri/generated/runtime/v1/api.ts';
import type { CriRequest } from '../../src/api/cri/runtime.ts';
import { listContainers, toContainerStatus } from './container-view.ts';
import type { FakeContainers } from './containers.ts';
import { execSync } from './exec.ts';
import type { CriMethodName, RequestOf, ResponseOf } from './faults.ts';
import type { FakeImages } from './images.ts';
import { rpcError } from './rpc-error.ts';
import type { FakeSandboxes } from './sandboxes.ts';
import type { FakeState } from './state.ts';
import type { FakeStats } from './stats.ts';
import type { FakeStreaming } from './streaming.ts';

export type UnaryMethod = Exclude<CriMethodName, 'getContainerEvents' | `stream${string}`>;

export type Handlers = {
  readonly [K in UnaryMethod]: (
    request: RequestOf<K>,
    signal: AbortSignal,
  ) => CriRequest<ResponseOf<K>> | Promise<CriRequest<ResponseOf<K>>>;
};

export interface Condition {
  readonly type: string;
  readonly status: boolean;
  readonly reason: string;
  readonly message: string;
}

interface HandlerDeps {
  readonly state: FakeState;
  readonly images: FakeImages;
  readonly containers: FakeContainers;
  readonly sandboxes: FakeSandboxes;
  readonly stats: FakeStats;
  readonly streaming: FakeStreaming;
  readonly conditions: () => readonly Condition[];
  readonly cgroupDriver: 'systemd' | 'cgroupfs' | undefined;
  /** Handlers whose features Status reports; an older runtime reports none. */
  readonly runtimeHandlers: readonly string[];
  /** Undefined: an older runtime, which reports no features. */
  readonly supplementalGroupsPolicy: boolean | undefined;
}

export function handlersOf(deps: HandlerDeps): Handlers {
  const { state, images, containers, sandboxes, stats, streaming } = deps;
  return {
    version: () => ({
      version: '0.1.0',
      runtimeName: 'containerd',
      runtimeVersion: '1.6.20',
      runtimeApiVersion: 'v1',
    }),
    status: () => ({
      status: { conditions: deps.conditions() },
      ...(deps.supplementalGroupsPolicy !== undefined && {
        features: { supplementalGroupsPolicy: deps.supplementalGroupsPolicy },
      }),
      runtimeHandlers: deps.runtimeHandlers.map((name) => ({
        name,
        features: { recursiveReadOnlyMounts: true, userNamespaces: false },
      })),
    }),
    runtimeConfig: () => {
      if (deps.cgroupDriver === undefined) throw unknownMethod('RuntimeConfig');
      const isSystemd = deps.cgroupDriver === 'systemd';
      return { linux: { cgroupDriver: isSystemd ? CgroupDriver.SYSTEMD : CgroupDriver.CGROUPFS } };
    },
    updateRuntimeConfig: () => ({}),

    runPodSandbox: (request) => ({ podSandboxId: sandboxes.run(request) }),
    stopPodSandbox: (request) => done(sandboxes.stop(request.podSandboxId)),
    removePodSandbox: (request) => done(sandboxes.remove(request.podSandboxId)),
    podSandboxStatus: ({ podSandboxId, verbose }) => {
      const status = sandboxes.status(podSandboxId);
      const { pid } = state.sandbox(status.id, () => '');
      return { status, info: verbose ? { info: JSON.stringify({ pid }) } : {} };
    },
    listPodSandbox: (request) => ({ items: sandboxes.list(request) }),
    updatePodSandboxResources: () => {
      throw unknownMethod('UpdatePodSandboxResources');
    },

    createContainer: (request) => ({
      containerId: containers.create(request, sandboxes.running(request.podSandboxId)),
    }),
    startContainer: ({ containerId }, signal) =>
      containers.startHeld(containerId, signal) ?? done(containers.start(containerId)),
    stopContainer: async ({ containerId, timeout }, signal) =>
      done(await containers.stop(containerId, timeout, signal)),
    removeContainer: (request) => done(containers.remove(request.containerId)),
    containerStatus: ({ containerId, verbose }) => {
      const container = containers.find(containerId);
      const info = JSON.stringify({ sandboxID: container.sandbox.id });
      return { status: toContainerStatus(container, images), info: verbose ? { info } : {} };
    },
    listContainers: (request) => ({ containers: listContainers(state, request) }),
    updateContainerResources: (request) => done(containers.update(request.containerId, request.linux)),
    reopenContainerLog: (request) => done(containers.reopenLog(request.containerId)),
    checkpointPod: () => {
      throw unknownMethod('CheckpointPod');
    },
    restorePod: () => {
      throw unknownMethod('RestorePod');
    },
    checkpointContainer: () => {
      throw rpcError('UNIMPLEMENTED', 'method CheckpointContainer not implemented');
    },

    execSync: (request, signal) => execSync(state, request, signal),
    exec: (request) => streaming.exec(request),
    attach: (request) => streaming.attach(request),
    portForward: (request) => streaming.portForward(request),

    containerStats: (request) => ({ stats: stats.container(request.containerId) }),
    listContainerStats: (request) => ({ stats: stats.containers(request) }),
    podSandboxStats: (request) => ({ stats: stats.sandbox(request.podSandboxId) }),
    listPodSandboxStats: (request) => ({ stats: stats.sandboxes(request) }),
    listMetricDescriptors: () => {
      throw unknownMethod('ListMetricDescriptors');
    },
    listPodSandboxMetrics: () => {
      throw unknownMethod('ListPodSandboxMetrics');
    },

    pullImage: (request) => ({ imageRef: images.pull(request) }),
    imageStatus: (request) => images.status(request.image?.image ?? ''),
    listImages: () => images.list(),
    removeImage: (request) => done(images.remove(request.image?.image ?? '')),
    imageFsInfo: () => images.fsInfo(),
  };
}

/** The empty response. */
function done(_nothing: void): Record<string, never> {
  return {};
}

function unknownMethod(name: string): Error {
  return rpcError('UNIMPLEMENTED', `unknown method ${name} for service runtime.v1.RuntimeService`);
}
