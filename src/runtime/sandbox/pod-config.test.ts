// The CRI requests for pods whose requests were recorded from a Go kubelet v1.34.11; values below are that recording's.

import { describe, expect, test } from 'vitest';
import { aContainer, aPod, type PodOver } from '../../../test/builders/builders.ts';
import { ContainerConfig, PodSandboxConfig, Signal } from '../../api/cri/generated/runtime/v1/api.ts';
import type { Pod } from '../../api/k8s/types.ts';
import { type ContainerGrants, noGrants } from '../../api/ports/exclusive-resources.ts';
import { generateContainerConfig } from '../container/container-config.ts';
import type { ContainerOptions } from '../container/container-options.ts';
import type { PodUserNamespace } from '../container/security-context.ts';
import {
  generateSandboxConfig,
  kernelHostname,
  type PodConfigSettings,
  podHostname,
} from './sandbox-config.ts';

const settings: PodConfigSettings = {
  podLogsDir: '/var/log/pods',
  rootDir: '/var/lib/kubelet',
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
  seccomp: { profileRoot: '/var/lib/kubelet/seccomp', defaultToRuntime: false },
  containerLogsDir: '/var/log/containers',
  hostIps: () => ['192.0.2.2'],
  allocatable: () => ({ cpu: '2' }),
  selinux: false,
  gates: { ContainerStopSignals: false, EnvFiles: false, HostnameOverride: false },
  cgroupParent: (pod) => `/kubepods/besteffort/pod${pod.metadata?.uid}`,
};

const users = { mode: 2 } as const;
const options = { env: new Map<string, Uint8Array>(), mounts: [], devices: [] };
const rec = (over: PodOver): Pod =>
  aPod({ namespace: 'rec', uid: 'UID', terminationGracePeriodSeconds: 2, ...over });
const sandboxOf = (pod: Pod, attempt = 0): PodSandboxConfig =>
  PodSandboxConfig.fromPartial(
    generateSandboxConfig({ pod, attempt, userNamespace: users }, settings) as PodSandboxConfig,
  );
const containerOf = (
  pod: Pod,
  restartCount = 0,
  containerOptions: ContainerOptions = options,
  by: PodConfigSettings = settings,
  as: PodUserNamespace = users,
  grants: ContainerGrants = noGrants,
): ContainerConfig => {
  const container = pod.spec?.containers[0] ?? aContainer();
  const input = {
    pod,
    container,
    restartCount,
    imageRef: 'sha256:9c0d',
    imageUser: { uid: 0n, username: '' },
    users: as,
    options: containerOptions,
    grants,
  };
  return ContainerConfig.fromPartial(generateContainerConfig(input, by) as ContainerConfig);
};
const expectSandbox = (pod: Pod, want: object): void =>
  expect(sandboxOf(pod)).toEqual(PodSandboxConfig.fromPartial(want as PodSandboxConfig));

const clusterFirst = {
  servers: ['10.96.0.10'],
  searches: ['rec.svc.cluster.local', 'svc.cluster.local', 'cluster.local'],
  options: ['ndots:5'],
};
const labels = (name: string): Record<string, string> => ({
  'io.kubernetes.pod.name': name,
  'io.kubernetes.pod.namespace': 'rec',
  'io.kubernetes.pod.uid': 'UID',
});
const linux = (over: object = {}, security: object = {}): object => ({
  cgroupParent: '/kubepods/besteffort/podUID',
  securityContext: { namespaceOptions: { pid: 1, usernsOptions: { mode: 2 } }, seccomp: {}, ...security },
  overhead: {},
  resources: { cpuPeriod: 100_000n, cpuShares: 2n },
  ...over,
});

describe('sandbox config as recorded', () => {
  test('simple', () =>
    expectSandbox(rec({ name: 'simple', annotations: { 'kubernetes.io/config.source': 'api' } }), {
      metadata: { name: 'simple', uid: 'UID', namespace: 'rec' },
      hostname: 'simple',
      logDirectory: '/var/log/pods/rec_simple_UID',
      dnsConfig: clusterFirst,
      labels: labels('simple'),
      annotations: { 'kubernetes.io/config.source': 'api' },
      linux: linux(),
    }));
  test('host-namespaces', () => {
    const pod = rec({ name: 'host-namespaces', hostNetwork: true, hostPID: true, hostIPC: true });
    const config = sandboxOf(pod);
    expect(config.hostname).toBe('');
    expect(config.linux?.securityContext?.namespaceOptions).toMatchObject({ network: 2, pid: 2, ipc: 2 });
  });
  test('qos-guaranteed', () => {
    const resources = { requests: { cpu: '200m', memory: '64Mi' }, limits: { cpu: '200m', memory: '64Mi' } };
    const pod = rec({ name: 'q', containers: [aContainer({ resources })] });
    expect(sandboxOf(pod).linux?.resources).toMatchObject({
      cpuPeriod: 100_000n,
      cpuQuota: 20_000n,
      cpuShares: 204n,
      memoryLimitInBytes: 67_108_864n,
    });
  });
  test('security', () => {
    const securityContext = {
      runAsUser: 1000,
      runAsGroup: 2000,
      fsGroup: 3000,
      supplementalGroups: [4000, 5000],
      sysctls: [{ name: 'net/ipv4/ip_unprivileged_port_start', value: '0' }],
    };
    const config = sandboxOf(rec({ name: 's', securityContext }));
    expect(config.linux?.securityContext).toMatchObject({
      runAsUser: { value: 1000n },
      runAsGroup: { value: 2000n },
      supplementalGroups: [3000n, 4000n, 5000n],
    });
    expect(config.linux?.sysctls).toEqual({ 'net.ipv4.ip_unprivileged_port_start': '0' });
  });
  test('dns-none', () => {
    const dnsConfig = {
      nameservers: ['192.0.2.53'],
      searches: ['a.example', 'b.example'],
      options: [{ name: 'ndots', value: '2' }, { name: 'edns0' }],
    };
    expect(sandboxOf(rec({ dnsPolicy: 'None', dnsConfig })).dnsConfig).toEqual({
      servers: ['192.0.2.53'],
      searches: ['a.example', 'b.example'],
      options: ['ndots:2', 'edns0'],
    });
  });
  test('privileged', () => {
    const pod = rec({ containers: [aContainer({ securityContext: { privileged: true } })] });
    expect(sandboxOf(pod).linux?.securityContext?.privileged).toBe(true);
  });
  test("includes the attempt and the pod's labels", () => {
    const config = sandboxOf(rec({ labels: { app: 'x' } }), 3);
    expect([config.metadata?.attempt, config.labels['app']]).toEqual([3, 'x']);
  });
  test('maps ports', () => {
    const ports = [
      { containerPort: 80, hostPort: 8080 },
      { containerPort: 53, protocol: 'UDP', hostIP: '127.0.0.1', hostPort: 53 },
      { containerPort: 53, protocol: 'UDP', hostIP: '127.0.0.1', hostPort: 53 },
    ];
    expect(sandboxOf(rec({ containers: [aContainer({ ports })] })).portMappings).toEqual([
      { protocol: 0, containerPort: 80, hostPort: 8080, hostIp: '' },
      { protocol: 1, containerPort: 53, hostPort: 53, hostIp: '127.0.0.1' },
    ]);
  });
});

describe('hostnames', () => {
  const cases: readonly (readonly [string, PodOver, string])[] = [
    ['the pod name', { name: 'n' }, 'n'],
    ['spec.hostname', { hostname: 'h' }, 'h'],
    ['an empty spec.hostname is ignored', { name: 'n', hostname: '' }, 'n'],
    ['a long name is truncated without a trailing dash', { name: `${'a'.repeat(62)}-bc` }, 'a'.repeat(62)],
    ['a subdomain alone changes nothing', { name: 'n', subdomain: 's' }, 'n'],
    [
      'whole name',
      { hostname: 'myhost', subdomain: 'sub', setHostnameAsFQDN: true },
      'myhost.sub.rec.svc.cluster.local',
    ],
  ];
  for (const [name, over, want] of cases) {
    test(name, () => expect(kernelHostname(rec(over), settings)).toBe(want));
  }
  test('hostnameOverride, if the gate is on', () => {
    const pod = rec({ hostname: 'h', subdomain: 's', hostnameOverride: 'a.b', setHostnameAsFQDN: true });
    const on = { ...settings, gates: { ...settings.gates, HostnameOverride: true } };
    expect([kernelHostname(pod, on), podHostname(pod, on)]).toEqual(['a.b', { hostname: 'a.b', domain: '' }]);
    expect(kernelHostname(pod, settings)).toBe('h.s.rec.svc.cluster.local');
    expect(() => podHostname(rec({ hostnameOverride: 'A_b' }), on)).toThrow(
      'pod HostnameOverride "A_b" is not a valid DNS subdomain',
    );
  });
  test('rejects invalid names', () => {
    expect(() => podHostname(rec({ hostname: 'a.b' }), settings)).toThrow('is not a valid DNS label');
    expect(() => podHostname(rec({ subdomain: '-' }), settings)).toThrow('is not a valid DNS label');
  });
  test('rejects an FQDN that is too long for the kernel', () => {
    const pod = rec({ hostname: 'a'.repeat(50), subdomain: 'sub', setHostnameAsFQDN: true });
    expect(() => kernelHostname(pod, settings)).toThrow('is too long (64 characters is the max');
  });
});

describe('container config as recorded', () => {
  test('simple', () => {
    const config = containerOf(rec({ name: 'simple' }));
    const { linux: own, ...rest } = config;
    expect(rest).toEqual({
      ...ContainerConfig.fromPartial({}),
      linux: undefined,
      metadata: { name: 'c', attempt: 0 },
      image: expect.objectContaining({
        image: 'sha256:9c0d',
        userSpecifiedImage: 'docker.io/library/busybox:1',
      }),
      command: ['sleep', '100000'],
      labels: { ...labels('simple'), 'io.kubernetes.container.name': 'c' },
      annotations: {
        'io.kubernetes.container.terminationMessagePolicy': 'File',
        'io.kubernetes.pod.terminationGracePeriod': '2',
        'io.kubernetes.container.hash': 'f59062ef',
        'io.kubernetes.container.restartCount': '0',
        'io.kubernetes.container.terminationMessagePath': '/dev/termination-log',
      },
      logPath: 'c/0.log',
    });
    expect(own?.resources).toMatchObject({
      cpuPeriod: 100_000n,
      cpuShares: 2n,
      oomScoreAdj: 1000n,
      hugepageLimits: [
        { pageSize: '2MB', limit: 0n },
        { pageSize: '1GB', limit: 0n },
      ],
      memorySwapLimitInBytes: 0n,
    });
    expect(own?.securityContext).toMatchObject({
      runAsUser: { value: 0n },
      seccomp: { profileType: 1 },
      namespaceOptions: { pid: 1 },
    });
    expect(own?.securityContext?.maskedPaths).toHaveLength(12);
    expect(own?.securityContext?.readonlyPaths).toHaveLength(5);
  });
  test('qos-burstable', () => {
    const resources = { requests: { cpu: '100m', memory: '32Mi' }, limits: { memory: '64Mi' } };
    const config = containerOf(rec({ containers: [aContainer({ resources })] }));
    expect(config.linux?.resources).toMatchObject({
      cpuPeriod: 100_000n,
      cpuQuota: 0n,
      cpuShares: 102n,
      memoryLimitInBytes: 67_108_864n,
      memorySwapLimitInBytes: 67_108_864n,
      oomScoreAdj: 999n,
    });
  });
  test('security', () => {
    const securityContext = {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] },
    };
    const pod = rec({
      securityContext: { runAsUser: 1000, runAsGroup: 2000, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [aContainer({ securityContext })],
    });
    expect(containerOf(pod).linux?.securityContext).toMatchObject({
      capabilities: { addCapabilities: ['NET_BIND_SERVICE'], dropCapabilities: ['ALL'] },
      noNewPrivs: true,
      readonlyRootfs: true,
      runAsUser: { value: 1000n },
      runAsGroup: { value: 2000n },
      seccomp: { profileType: 0 },
    });
  });
  test('expands variables in commands and values', () => {
    const env = new Map(Object.entries({ A: 'one', B: 'one-$(C)' }).map(([k, v]) => [k, Buffer.from(v)]));
    const container = aContainer({ command: ['echo', '$(A)', '$(MISSING)', '$$(A)'], args: ['$(B)'] });
    const config = containerOf(rec({ containers: [container] }), 2, { ...options, env });
    expect(config.command).toEqual(['echo', 'one', '$(MISSING)', '$(A)']);
    expect(config.args).toEqual(['one-$(C)']);
    const large = new Map([['A', Buffer.alloc(9 * 1024 * 1024, 'x')]]);
    const twice = (args: string[]): unknown =>
      containerOf(rec({ containers: [aContainer({ args })] }), 0, { ...options, env: large });
    expect(() => twice(['$(A)'])).toThrow('environment, command and args take more than 16 MiB');
    expect(config.envs.map(({ key, value }) => `${key}=${new TextDecoder().decode(value)}`)).toEqual([
      'A=one',
      'B=one-$(C)',
    ]);
    expect([config.metadata?.attempt, config.logPath]).toEqual([2, 'c/2.log']);
  });
  test('a stop signal, if the gate is on', () => {
    const pod = rec({ containers: [aContainer({ lifecycle: { stopSignal: 'SIGUSR1' } })] });
    const on = { ...settings, gates: { ...settings.gates, ContainerStopSignals: true } };
    const signals = [settings, on].map((each) => containerOf(pod, 0, options, each).stopSignal);
    expect(signals).toEqual([Signal.SIGNAL_RUNTIME_DEFAULT, Signal.SIGNAL_SIGUSR1]);
  });
  test('maps the IDs of mounts in a user namespace', () => {
    const mapping = { hostId: 65_536, containerId: 0, length: 65_536 };
    const own = { mode: 0, uids: [mapping], gids: [mapping] } as const;
    const mounts = [{ hostPath: '/a', containerPath: '/b' }];
    const [mount] = containerOf(rec({}), 0, { ...options, mounts }, settings, own).mounts;
    expect(mount).toMatchObject({ hostPath: '/a', uidMappings: [mapping], gidMappings: [mapping] });
  });
  test('records the preStop hook and the ports like upstream', () => {
    const httpGet = { scheme: 'HTTP', port: 80, path: '/a?b&c' };
    const ports = [{ protocol: 'TCP', containerPort: 80, name: 'web' }];
    const pod = rec({ containers: [aContainer({ ports, lifecycle: { preStop: { httpGet } } })] });
    expect(containerOf(pod).annotations).toMatchObject({
      'io.kubernetes.container.preStopHandler':
        '{"httpGet":{"path":"/a?b\\u0026c","port":80,"scheme":"HTTP"}}',
      'io.kubernetes.container.ports': '[{"name":"web","containerPort":80,"protocol":"TCP"}]',
    });
  });
});

test("passes what the managers grant: CPU sets, memory nodes, CDI devices, annotations below the kubelet's own", () => {
  const annotations = new Map([
    ['example.com/a', 'x'],
    ['io.kubernetes.container.restartCount', '7'],
  ]);
  const grants = { ...noGrants, cpus: '1,3', memoryNodes: '0', annotations, cdiDevices: ['example.com/d=1'] };
  const config = containerOf(rec({}), 0, options, settings, users, grants);
  expect(config.linux?.resources).toMatchObject({ cpusetCpus: '1,3', cpusetMems: '0' });
  expect(config.CDIDevices).toEqual([{ name: 'example.com/d=1' }]);
  expect(config.annotations).toMatchObject({
    'example.com/a': 'x',
    'io.kubernetes.container.restartCount': '0',
  });
});
