// The CRI requests for pods whose requests were recorded from a Go kubelet v1.34.11; values below are that recording's.
import { describe, expect, test } from 'vitest';
import { ContainerConfig, PodSandboxConfig } from '../api/generated/runtime/v1/api.ts';
import type { Pod } from '../api/k8s.ts';
import { aContainer, aPod, type PodOver } from '../testing/builders.ts';
import { generateContainerConfig } from './container-config.ts';
import { generateSandboxConfig, type PodConfigSettings, podHostname } from './sandbox-config.ts';

const settings: PodConfigSettings = {
  podLogsDir: '/var/log/pods',
  rootDir: '/var/lib/kubelet',
  dns: { clusterDns: ['10.96.0.10'], clusterDomain: 'cluster.local' },
  resources: {
    cpuCfsQuota: true,
    cpuCfsQuotaPeriodUs: 100_000,
    memoryCapacityBytes: 25_000_000_000n,
    hugePageSizes: ['2MB', '1GB'],
  },
  seccomp: { profileRoot: '/var/lib/kubelet/seccomp', defaultToRuntime: false },
  cgroupParent: (pod) => `/kubepods/besteffort/pod${pod.metadata?.uid}`,
};

const rec = (over: PodOver): Pod =>
  aPod({ namespace: 'rec', uid: 'UID', terminationGracePeriodSeconds: 2, ...over });
const sandboxOf = (pod: Pod, attempt = 0): PodSandboxConfig =>
  PodSandboxConfig.fromPartial(generateSandboxConfig(pod, attempt, settings) as PodSandboxConfig);
const containerOf = (pod: Pod, restartCount = 0): ContainerConfig => {
  const container = pod.spec?.containers[0] ?? aContainer();
  const input = {
    pod,
    container,
    restartCount,
    imageRef: 'sha256:9c0d',
    imageUser: { uid: 0n, username: '' },
  };
  return ContainerConfig.fromPartial(generateContainerConfig(input, settings) as ContainerConfig);
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
  test("the attempt and the pod's own labels are carried", () => {
    const config = sandboxOf(rec({ labels: { app: 'x' } }), 3);
    expect([config.metadata?.attempt, config.labels['app']]).toEqual([3, 'x']);
  });
  test('ports become mappings', () => {
    const ports = [
      { containerPort: 80, hostPort: 8080 },
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
    ['the name', { name: 'n' }, 'n'],
    ['the asked one', { hostname: 'h' }, 'h'],
    ['an empty one is none', { name: 'n', hostname: '' }, 'n'],
    ['a long name is cut, not ending in a dash', { name: `${'a'.repeat(62)}-bc` }, 'a'.repeat(62)],
    ['a subdomain alone changes nothing', { name: 'n', subdomain: 's' }, 'n'],
    [
      'whole name',
      { hostname: 'myhost', subdomain: 'sub', setHostnameAsFQDN: true },
      'myhost.sub.rec.svc.cluster.local',
    ],
  ];
  for (const [name, over, want] of cases) {
    test(name, () => expect(podHostname(rec(over), 'cluster.local')).toBe(want));
  }
  test('a whole name the kernel cannot hold is refused', () => {
    const pod = rec({ hostname: 'a'.repeat(50), subdomain: 'sub', setHostnameAsFQDN: true });
    expect(() => podHostname(pod, 'cluster.local')).toThrow('is too long (64 characters is the max');
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
  test('environment, and variables in commands and values', () => {
    const container = aContainer({
      command: ['echo', '$(A)', '$(MISSING)', '$$(A)'],
      args: ['$(B)'],
      env: [
        { name: 'A', value: 'one' },
        { name: 'B', value: '$(A)-$(C)' },
        { name: 'C', value: '3' },
      ],
    });
    const config = containerOf(rec({ containers: [container] }), 2);
    expect(config.command).toEqual(['echo', 'one', '$(MISSING)', '$(A)']);
    expect(config.args).toEqual(['one-$(C)']);
    expect(config.envs.map(({ key, value }) => `${key}=${new TextDecoder().decode(value)}`)).toEqual([
      'A=one',
      'B=one-$(C)',
      'C=3',
    ]);
    expect([config.metadata?.attempt, config.logPath]).toEqual([2, 'c/2.log']);
  });
});
