// CRI requests are equal to those of the Go kubelet for the same pods. The fixture holds recorded manifests and
// requests, without times and the fields that every container has; field names are those of the CRI.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  ContainerConfig,
  MountPropagation,
  NamespaceMode,
  PodSandboxConfig,
  SecurityProfile_ProfileType,
} from '../../../src/api/cri/generated/runtime/v1/api.ts';
import type { ConfigMap, Container, Pod, Secret } from '../../../src/api/k8s/types.ts';
import { podQosClass } from '../../../src/api/pod/qos.ts';
import { noGrants } from '../../../src/api/ports/exclusive-resources.ts';
import type { PodObjects } from '../../../src/api/ports/pod-objects.ts';
import { KubeletError } from '../../../src/base/errors.ts';
import { silentLogger } from '../../../src/base/log/log.ts';
import { generateContainerConfig } from '../../../src/runtime/container/container-config.ts';
import { containerOptions, messageMount } from '../../../src/runtime/container/container-options.ts';
import { prepareSandbox } from '../../../src/runtime/sandbox/prepare-sandbox.ts';
import type { PodConfigSettings } from '../../../src/runtime/sandbox/sandbox-config.ts';
import { defaultPod } from '../../../src/sources/defaults/pod-defaults.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';

interface Json {
  readonly [key: string]: unknown;
}

interface Recorded {
  readonly name: string;
  readonly podIP: string;
  readonly pod: Pod;
  readonly objects?: readonly (ConfigMap | (Secret & { stringData?: Record<string, string> }))[];
  readonly sandbox: Json;
  readonly containers?: readonly (Json & { readonly metadata: { readonly name: string } })[];
}

const recordings = JSON.parse(
  readFileSync(join(import.meta.dirname, 'fixtures/recorded-requests.json'), 'utf8'),
) as readonly Recorded[];
const { signal } = new AbortController();

const classes = { Guaranteed: '', Burstable: '/burstable', BestEffort: '/besteffort' } as const;
const settings: PodConfigSettings = {
  podLogsDir: '/var/log/pods',
  rootDir: 'ROOT',
  containerLogsDir: '/var/log/containers',
  dns: { clusterDns: ['10.96.0.10'], clusterDomain: 'cluster.local' },
  resources: {
    cpuCfsQuota: true,
    cpuCfsQuotaPeriodUs: 100_000,
    memoryCapacityBytes: 25_000_000_000n,
    hugePageSizes: ['2MB', '1GB'],
    cgroupVersion: 1,
    swap: { behavior: 'NoSwap', controller: true, capacityBytes: 0n },
    allocatableBytes: () => 0n,
  },
  seccomp: { profileRoot: 'ROOT/seccomp', defaultToRuntime: false },
  hostIps: () => ['192.0.2.2'],
  allocatable: () => ({ cpu: '2', memory: '8Gi' }),
  selinux: false,
  gates: { ContainerStopSignals: false, EnvFiles: false, HostnameOverride: false },
  cgroupParent: (pod) => `/kubepods${classes[podQosClass(pod)]}/podUID`,
};
const kubernetes = {
  metadata: { name: 'kubernetes', namespace: 'default' },
  spec: { clusterIP: '10.96.0.1', ports: [{ name: 'https', port: 443, protocol: 'TCP' }] },
};

const masked = [
  ...['asound', 'acpi', 'interrupts', 'kcore', 'keys', 'latency_stats'].map((name) => `/proc/${name}`),
  ...['timer_list', 'timer_stats', 'sched_debug', 'scsi'].map((name) => `/proc/${name}`),
  '/sys/firmware',
  '/sys/devices/virtual/powercap',
];
const readonly = ['bus', 'fs', 'irq', 'sys', 'sysrq-trigger'].map((name) => `/proc/${name}`);
const enums: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  pid: NamespaceMode,
  ipc: NamespaceMode,
  network: NamespaceMode,
  mode: NamespaceMode,
  profile_type: SecurityProfile_ProfileType,
  propagation: MountPropagation,
};

/** Converts the recorded field names of the .proto to those of our messages. */
function fromProto(value: unknown, key = ''): unknown {
  if (key === 'masked_paths' && value === 'default') return masked;
  if (key === 'readonly_paths' && value === 'default') return readonly;
  if (key === 'value' && typeof value === 'string') return Buffer.from(value, 'base64');
  if (typeof value === 'string') return enums[key]?.[value] ?? value;
  if (Array.isArray(value)) return value.map((each) => fromProto(each, key));
  if (typeof value !== 'object' || value === null) return value;
  if (['labels', 'annotations', 'sysctls'].includes(key)) return value;
  const camel = (name: string): string =>
    name.replaceAll(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase());
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [camel(name), fromProto(each, name)]),
  );
}

function podOf({ pod }: Recorded): Pod {
  const annotations = { ...pod.metadata?.annotations, 'kubernetes.io/config.source': 'api' };
  const metadata = { ...pod.metadata, namespace: 'rec', uid: 'UID', annotations };
  return defaultPod({ ...pod, metadata });
}

function objectsOf({ objects = [] }: Recorded): PodObjects {
  const find = (kind: string, name: string) =>
    objects.find((each) => each.kind === kind && each.metadata?.name === name) ?? gone(kind, name);
  return {
    services: async () => [kubernetes],
    configMap: async (_namespace: string, name: string) => find('ConfigMap', name),
    secret: async (_namespace: string, name: string) => {
      const { stringData = {} } = find('Secret', name) as { stringData?: Record<string, string> };
      const data = Object.entries(stringData).map(([key, text]) => [
        key,
        Buffer.from(text).toString('base64'),
      ]);
      return { data: Object.fromEntries(data) as Record<string, string> };
    },
  } as unknown as PodObjects;
}

function gone(kind: string, name: string): never {
  throw new KubeletError('not-found', 'NotFound', `${kind.toLowerCase()} "${name}" not found`);
}

const userNamespaces = {
  of: async () => ({ mode: NamespaceMode.NODE }),
  release: () => undefined,
};

const resolver = { servers: ['10.255.255.53'], searches: [], options: [] };

async function sandboxOf(recorded: Recorded): Promise<PodSandboxConfig> {
  const deps = {
    node: { settings },
    inputs: { objects: objectsOf(recorded), userNamespaces, volumes: { extraGroups: () => [] } },
  };
  const { config } = await prepareSandbox(deps, podOf(recorded), 0, resolver, signal);
  return PodSandboxConfig.fromPartial(config as PodSandboxConfig);
}

/** `mounts`: the mounts of volumes, which this test does not cover. */
async function containerOf(
  recorded: Recorded,
  name: string,
  mounts: readonly object[],
): Promise<ContainerConfig> {
  const pod = podOf(recorded);
  const { containers = [], initContainers = [] } = pod.spec ?? {};
  const container = [...initContainers, ...containers].find((each) => each.name === name) as Container;
  const files = {
    makeDirectory: async () => false,
    readText: async () => '127.0.0.1 localhost\n',
    readTextIfAny: async () => undefined,
    writeText: async () => undefined,
  };
  const volumes = {
    mount: async () => undefined,
    containerMounts: async () => ({ mounts, devices: [] }),
    extraGroups: () => [],
    unmount: async () => undefined,
    readFile: async () => ({ hostPath: '', data: undefined }),
  };
  const deps = {
    clock: new FakeClock(0),
    node: { files: files as never, settings },
    inputs: { objects: objectsOf(recorded), volumes },
    report: { log: silentLogger },
  };
  const podIps = recorded.podIP === '' ? [] : [recorded.podIP];
  const message = await messageMount(deps.node, { pod, container, restartCount: 0 });
  const input = {
    pod,
    container,
    restartCount: 0,
    podIps,
    message,
    imageVolumes: new Map(),
    grants: noGrants,
  };
  const options = await containerOptions(deps, input, signal);
  const users = await userNamespaces.of();
  const config = generateContainerConfig(
    {
      pod,
      container,
      restartCount: 0,
      imageRef: '',
      imageUser: { uid: 0n, username: '' },
      users,
      options,
      grants: noGrants,
    },
    settings,
  );
  return ContainerConfig.fromPartial(config as ContainerConfig);
}

/**
 * In the recordings the order of variables is Go's map order, and the name of the termination message file is random.
 */
function comparable({ envs, image, mounts, ...rest }: ContainerConfig): object {
  return {
    ...rest,
    userSpecifiedImage: image?.userSpecifiedImage,
    envs: Object.fromEntries(
      envs
        .filter(({ key }) => !key.startsWith('KUBERNETES_'))
        .map(({ key, value }) => [key, Buffer.from(value).toString()]),
    ),
    mounts: mounts.map((mount) => ({
      ...mount,
      hostPath: mount.hostPath.replace(/(containers\/[^/]+\/)[0-9a-f]{8}$/, '$1HASH'),
    })),
  };
}

test('all recordings are present', () => expect(recordings.length).toBeGreaterThanOrEqual(30));

describe('RunPodSandbox request as recorded', () => {
  for (const recorded of recordings) {
    test(recorded.name, async () => {
      const want = PodSandboxConfig.fromPartial(fromProto(recorded.sandbox) as PodSandboxConfig);
      expect(await sandboxOf(recorded)).toEqual(want);
    });
  }
});

describe('CreateContainer request as recorded', () => {
  for (const recorded of recordings) {
    for (const container of recorded.containers ?? []) {
      const { name } = container.metadata;
      test(`${recorded.name}: ${name}`, async () => {
        const want = ContainerConfig.fromPartial(fromProto(container) as ContainerConfig);
        const ofVolumes = want.mounts.filter(({ hostPath }) => !/etc-hosts$|\/containers\//.test(hostPath));
        const got = await containerOf(recorded, name, ofVolumes);
        expect(comparable(got)).toEqual(comparable(want));
      });
    }
  }
});
