import { describe, expect, test } from 'vitest';
import { type Case, disagreement, titleOf, violations } from './cases.ts';

const runCases = (cases: readonly Case[]): void => {
  for (const [name, situation, ...expected] of cases) {
    test(titleOf(name, expected), async () => expect(await disagreement(situation, expected)).toBe(''));
  }
};

const v1 = { cgroupVersion: 1 } as const;

describe('the host', () => {
  runCases([
    ['systemCgroups with cgroupRoot', { set: { systemCgroups: '/s', cgroupRoot: '/' } }],
    [
      'systemCgroups alone',
      { set: { systemCgroups: '/s' } },
      'systemCgroups (--system-cgroups): needs cgroupRoot',
    ],
    ['failCgroupV1 on v2', { set: { failCgroupV1: true } }],
    [
      'failCgroupV1 on v1',
      { set: { failCgroupV1: true }, host: v1 },
      'failCgroupV1 (--fail-cgroupv1): kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported and will be removed in a future release',
    ],
    ['cgroup v1 by default', { host: v1 }, 'failCgroupV1'],
    ['cgroup v1 with failCgroupV1 false', { set: { failCgroupV1: false }, host: v1 }],
    ['singleProcessOOMKill false on v2', { set: { singleProcessOOMKill: false } }],
    [
      'singleProcessOOMKill true on v1',
      { set: { failCgroupV1: false, singleProcessOOMKill: true }, host: v1 },
    ],
    [
      'singleProcessOOMKill false on v1',
      { set: { failCgroupV1: false, singleProcessOOMKill: false }, host: v1 },
      'singleProcessOOMKill',
    ],
    [
      'LimitedSwap on v1',
      { set: { failCgroupV1: false, memorySwap: { swapBehavior: 'LimitedSwap' } }, host: v1 },
      'needs cgroup v2',
    ],
    ['NoSwap on v1', { set: { failCgroupV1: false, memorySwap: { swapBehavior: 'NoSwap' } }, host: v1 }],
    ['idsPerPod 65536', { set: { userNamespaces: { idsPerPod: 65536 } } }],
    ['idsPerPod 131072', { set: { userNamespaces: { idsPerPod: 131072 } } }],
    ['idsPerPod unset', { set: { userNamespaces: {} } }],
    ['idsPerPod 0', { set: { userNamespaces: { idsPerPod: 0 } } }, 'userNamespaces.idsPerPod: 0'],
    ['idsPerPod 65535', { set: { userNamespaces: { idsPerPod: 65535 } } }, 'multiple of 65536'],
    ['idsPerPod 65537', { set: { userNamespaces: { idsPerPod: 65537 } } }, 'multiple of 65536'],
    ['idsPerPod 2^32', { set: { userNamespaces: { idsPerPod: 2 ** 32 } } }, 'below 2^32'],
    ['idsPerPod 2^32 - 65536', { set: { userNamespaces: { idsPerPod: 2 ** 32 - 65536 } } }],
    ['an unknown cgroup driver, with a warning', { set: { cgroupDriver: 'other' } }],
  ]);
});

describe('shutdown', () => {
  runCases([
    ['both periods', { set: { shutdownGracePeriod: '30s', shutdownGracePeriodCriticalPods: '10s' } }],
    ['equal periods', { set: { shutdownGracePeriod: '30s', shutdownGracePeriodCriticalPods: '30s' } }],
    [
      'a critical period longer than the whole',
      { set: { shutdownGracePeriod: '1s', shutdownGracePeriodCriticalPods: '2s' } },
      'shutdownGracePeriodCriticalPods: 2s must not be longer than shutdownGracePeriod, which is 1s',
    ],
    [
      'shutdownGracePeriod 1ms',
      { set: { shutdownGracePeriod: '1ms' } },
      'shutdownGracePeriod: 1ms must be zero or',
    ],
    [
      'shutdownGracePeriod -1s',
      { set: { shutdownGracePeriod: '-1s' } },
      'shutdownGracePeriodCriticalPods: 0s must not be longer',
      'shutdownGracePeriod: -1s must be zero or',
    ],
    [
      'shutdownGracePeriodCriticalPods 1ms',
      { set: { shutdownGracePeriod: '2s', shutdownGracePeriodCriticalPods: '1ms' } },
      'shutdownGracePeriodCriticalPods: 1ms must be zero or',
    ],
    [
      'periods by priority',
      { set: { shutdownGracePeriodByPodPriority: [{ priority: 0, shutdownGracePeriodSeconds: 10 }] } },
    ],
    [
      'periods by priority beside the plain one',
      {
        set: {
          shutdownGracePeriod: '1s',
          shutdownGracePeriodByPodPriority: [{ priority: 0, shutdownGracePeriodSeconds: 10 }],
        },
      },
      'shutdownGracePeriodByPodPriority: cannot be used together',
    ],
    [
      'critical pods without the gate',
      {
        set: { shutdownGracePeriodCriticalPods: '1s' },
        off: [
          'GracefulNodeShutdown',
          'GracefulNodeShutdownBasedOnPodPriority',
          'WindowsGracefulNodeShutdown',
        ],
      },
      'shutdownGracePeriodCriticalPods: needs the feature gate',
    ],
  ]);
});

describe('restarts and quotas', () => {
  const back = (period: string): { on: string[]; set: Record<string, unknown> } => ({
    on: ['KubeletCrashLoopBackOffMax'],
    set: { crashLoopBackOff: { maxContainerRestartPeriod: period } },
  });
  const quota = (period: string): { on: string[]; set: Record<string, unknown> } => ({
    on: ['CustomCPUCFSQuotaPeriod'],
    set: { cpuCFSQuotaPeriod: period },
  });
  runCases([
    ['a restart period of 1s', back('1s')],
    ['a restart period of 300s', back('300s')],
    ['a restart period of 0s', back('0s'), 'crashLoopBackOff.maxContainerRestartPeriod: 0s is out of range'],
    ['a restart period of 999ms', back('999ms'), 'from 1s to 300s'],
    ['a restart period of 301s', back('301s'), 'from 1s to 300s'],
    ['a restart period of 300.9s', back('300.9s'), 'from 1s to 300s'],
    ['the gate alone, which sets the default', { on: ['KubeletCrashLoopBackOffMax'] }],
    ['a quota period of 1ms', quota('1ms')],
    ['a quota period of 1s', quota('1s')],
    ['a quota period of 999µs', quota('999us'), 'from 1ms to 1s'],
    ['a quota period of 2s', quota('2s'), 'cpuCFSQuotaPeriod (--cpu-cfs-quota-period): 2s is out of range'],
  ]);
});

describe('taints and sysctls', () => {
  const taint = (entry: Record<string, unknown>): { set: Record<string, unknown> } => ({
    set: { registerWithTaints: [entry] },
  });
  const sysctls = (...names: string[]): { set: Record<string, unknown> } => ({
    set: { allowedUnsafeSysctls: names },
  });
  runCases([
    ['a taint', taint({ key: 'a.io/b', value: 'c', effect: 'NoSchedule' })],
    ['a taint without value', taint({ key: 'a', effect: 'NoExecute' })],
    [
      'a taint with an invalid key',
      taint({ key: 'a/b/c', effect: 'NoExecute' }),
      'registerWithTaints[0] (--register-with-taints): the key',
    ],
    [
      'a taint with an invalid value',
      taint({ key: 'a', value: 'b c', effect: 'NoExecute' }),
      'the value "b c"',
    ],
    ['a taint without effect', taint({ key: 'a' }), 'registerWithTaints[0].effect'],
    ['a taint with an invalid effect', taint({ key: 'a', effect: 'Never' }), '"Never" is not allowed'],
    [
      'a taint with a time',
      taint({ key: 'a', effect: 'NoExecute', timeAdded: '2024-01-01T00:00:00Z' }),
      'timeAdded must not be set',
    ],
    [
      'sysctls',
      sysctls('kernel.shm*', 'kernel.msgmax', 'net.core.somaxconn', 'fs.mqueue.*', 'net/ipv4/tcp_syncookies'),
    ],
    ['a sysctl that is not namespaced', sysctls('kernel.panic'), 'is not a namespaced sysctl'],
    ['only a star', sysctls('*'), 'is not a namespaced sysctl'],
    ['an invalid sysctl', sysctls('Net.X'), 'is not a valid sysctl name'],
  ]);
});

describe('pods and logs', () => {
  runCases([
    ['runOnce beside the server', { set: { runOnce: true } }, 'runOnce (--runonce): cannot be used together'],
    ['runOnce without the server', { set: { runOnce: true, enableServer: false } }],
    [
      'no runtime endpoint',
      { argv: ['--container-runtime-endpoint='] },
      'containerRuntimeEndpoint (--container-runtime-endpoint)',
    ],
    ['memoryThrottlingFactor 1', { set: { memoryThrottlingFactor: 1 } }],
    [
      'the former throttling factor without MemoryQoS',
      { set: { memoryThrottlingFactor: 0.9 }, off: ['MemoryQoS'] },
    ],
    [
      'another throttling factor without MemoryQoS',
      { set: { memoryThrottlingFactor: 0.8 }, off: ['MemoryQoS'] },
      'memoryThrottlingFactor: needs the feature gate MemoryQoS',
    ],
    ['tiered reservation', { set: { memoryReservationPolicy: 'TieredReservation' } }],
    [
      'tiered reservation without MemoryQoS',
      { set: { memoryReservationPolicy: 'TieredReservation' }, off: ['MemoryQoS'] },
      'memoryReservationPolicy: "TieredReservation" needs the feature gate MemoryQoS',
    ],
    [
      'another reservation policy',
      { set: { memoryReservationPolicy: 'Some' } },
      'memoryReservationPolicy: "Some"',
    ],
    [
      'default sysctls',
      { set: { defaultPodSysctls: { 'net.ipv4.ip_forward': '1' } } },
      'defaultPodSysctls: needs',
    ],
    ['a negative minimum age of images', { set: { imageMinimumGCAge: '-1s' } }, 'imageMinimumGCAge'],
    ['curves', { set: { tlsCurvePreferences: [29, 23] } }],
    [
      'a curve twice',
      { set: { tlsCurvePreferences: [29, 29] } },
      'tlsCurvePreferences: 29 is specified twice',
    ],
    ['an unknown curve', { set: { tlsCurvePreferences: [30] } }, '30 is not a known key exchange mechanism'],
    ['a curve out of range', { set: { tlsCurvePreferences: [0] } }, '0 is out of range'],
    [
      'a curve that OpenSSL lacks',
      { set: { tlsCurvePreferences: [4588] }, host: { cgroupVersion: 2, hasTlsGroup: () => false } },
      '4588 (X25519MLKEM768) is not supported by the OpenSSL of this Node.js',
    ],
    ['memoryThrottlingFactor 0.01', { set: { memoryThrottlingFactor: 0.01 } }],
    [
      'memoryThrottlingFactor 0',
      { set: { memoryThrottlingFactor: 0 } },
      'memoryThrottlingFactor: 0 must be above 0',
    ],
    [
      'memoryThrottlingFactor 1.1',
      { set: { memoryThrottlingFactor: 1.1 } },
      'memoryThrottlingFactor: 1.1 must be',
    ],
    [
      'memoryThrottlingFactor -0.5',
      { set: { memoryThrottlingFactor: -0.5 } },
      'memoryThrottlingFactor: -0.5',
    ],
    ['podLogsDir', { set: { podLogsDir: '/logs' } }],
    ['podLogsDir relative to the file', { set: { podLogsDir: 'logs' } }],
    [
      'podLogsDir with dots',
      { set: { podLogsDir: '/path/../' } },
      'podLogsDir: "/path/../" is not normalized',
    ],
    ['podLogsDir with a trailing slash', { set: { podLogsDir: '/logs/' } }, 'is not normalized'],
    ['podLogsDir with non-ASCII characters', { set: { podLogsDir: '/🧪' } }, 'contains non-ASCII characters'],
    ['containerLogMaxSize 1Ki', { set: { containerLogMaxSize: '1Ki' } }],
    ['containerLogMaxSize -1', { set: { containerLogMaxSize: '-1' } }],
    [
      'containerLogMaxSize ten',
      { set: { containerLogMaxSize: 'ten' } },
      'containerLogMaxSize (--container-log-max-size)',
    ],
    ['containerLogMaxSize 1m', { set: { containerLogMaxSize: '1m' } }, 'whole number of bytes'],
    [
      'a log query without the handler',
      { set: { enableSystemLogQuery: true, enableSystemLogHandler: false }, on: ['NodeLogQuery'] },
      'enableSystemLogQuery: needs enableSystemLogHandler',
    ],
    ['hidden metrics of the previous version', { set: { showHiddenMetricsForVersion: '1.36' } }],
    [
      'hidden metrics of another version',
      { set: { showHiddenMetricsForVersion: '1.35' } },
      'showHiddenMetricsForVersion: must be',
    ],
    ['hidden metrics of this version', { set: { showHiddenMetricsForVersion: '1.37' } }, 'empty or "1.36"'],
  ]);
});

describe('flags', () => {
  runCases([
    ['labels of others', { argv: ['--node-labels=a=b,cloud.google.com/x=true'] }],
    ['well-known labels', { argv: ['--node-labels=topology.kubernetes.io/zone=a,kubernetes.io/arch=amd64'] }],
    [
      'labels below node.kubernetes.io',
      { argv: ['--node-labels=node.kubernetes.io/x=,a.node.kubernetes.io/y=1'] },
    ],
    ['labels below kubelet.kubernetes.io', { argv: ['--node-labels=kubelet.kubernetes.io/x=y'] }],
    [
      'a label of Kubernetes',
      { argv: ['--node-labels=node-role.kubernetes.io/master='] },
      '--node-labels: node-role.kubernetes.io/master:',
    ],
    ['a label of k8s.io', { argv: ['--node-labels=x.k8s.io/y=z'] }, '--node-labels: x.k8s.io/y:'],
    ['an invalid label value', { argv: ['--node-labels=a=b/c'] }, '--node-labels: the value "b/c" of a:'],
    ['an invalid label key', { argv: ['--node-labels=a b=c'] }, '--node-labels: the key "a b":'],
    [
      'lock contention without a file',
      { argv: ['--exit-on-lock-contention'] },
      '--exit-on-lock-contention: needs --lock-file',
    ],
    ['lock contention with a file', { argv: ['--exit-on-lock-contention', '--lock-file=/x'] }],
    ['no history', { argv: ['--history-max-size=0', '--history-log-lines=0'] }],
    ['a small history', { argv: ['--history-max-size=1Mi', '--history-log-lines=100'] }],
    [
      'a history that is too small',
      { argv: ['--history-max-size=1M'] },
      '--history-max-size: "1M" is neither 0 nor at least 1Mi',
    ],
    ['a negative history', { argv: ['--history-max-size=-1'] }, '--history-max-size: "-1" is neither'],
    ['too many log lines', { argv: ['--history-log-lines=101'] }, '--history-log-lines: 101 is'],
    ['a negative number of lines', { argv: ['--history-log-lines=-1'] }, '--history-log-lines: -1 is'],
    ['the external cloud', { argv: ['--cloud-provider=external'] }],
    ['images to keep', { argv: ['--image-gc-keep=a,b/*', '--image-gc-keep=c:1'] }],
    [
      'a pattern of images to keep',
      { argv: ['--image-gc-keep=a*b'] },
      '--image-gc-keep: "a*b" has a * before its end',
    ],
    ['an empty image to keep', { argv: ['--image-gc-keep=a,,b'] }, '--image-gc-keep: has an empty entry'],
    [
      'a former in-tree cloud provider',
      { argv: ['--cloud-provider=aws'] },
      '--cloud-provider: "aws" is no longer supported',
    ],
  ]);
});

test('all violations are reported together, each with field and flag', async () => {
  const found = await violations({
    set: { maxPods: -1, port: 70000, hairpinMode: 'x', registryBurst: -3, memorySwap: { swapBehavior: 'y' } },
    argv: ['--node-labels=k8s.io/a=b', '--event-qps=-1'],
  });
  expect(found.map((line) => line.split(':')[0])).toEqual([
    'port (--port)',
    'registryBurst (--registry-burst)',
    'eventRecordQPS (--event-qps)',
    'hairpinMode (--hairpin-mode)',
    'maxPods (--max-pods)',
    'memorySwap.swapBehavior',
    '--node-labels',
  ]);
});
