import { describe, expect, test } from 'vitest';
import { type Case, disagreement, titleOf } from './cases.ts';

const runCases = (cases: readonly Case[]): void => {
  for (const [name, situation, ...expected] of cases) {
    test(titleOf(name, expected), async () => expect(await disagreement(situation, expected)).toBe(''));
  }
};

/** Field, flag, and the first values beyond each end, beside the last ones within. */
const ranges: readonly (readonly [
  field: string,
  flag: string | undefined,
  good: readonly number[],
  bad: readonly number[],
])[] = [
  ['nodeLeaseDurationSeconds', undefined, [1], [-1]],
  ['eventBurst', 'event-burst', [1], [-1]],
  ['eventRecordQPS', 'event-qps', [0], [-1]],
  ['healthzPort', 'healthz-port', [0, 1, 65535], [-1, 65536]],
  ['iptablesDropBit', undefined, [0, 31], [-1, 32]],
  ['iptablesMasqueradeBit', undefined, [0, 31], [-1, 32]],
  ['kubeAPIBurst', 'kube-api-burst', [1], [-1]],
  ['kubeAPIQPS', 'kube-api-qps', [0], [-1]],
  ['nodeStatusMaxImages', 'node-status-max-images', [-1, 0], [-2]],
  ['maxOpenFiles', 'max-open-files', [1], [-1]],
  ['maxPods', 'max-pods', [1], [-1]],
  ['oomScoreAdj', 'oom-score-adj', [-1000, 1000], [-1001, 1001]],
  ['podsPerCore', 'pods-per-core', [0], [-1]],
  ['port', 'port', [1, 65535], [-1, 65536]],
  ['readOnlyPort', 'read-only-port', [0, 1, 65535], [-1, 65536]],
  ['registryBurst', 'registry-burst', [1], [-1]],
  ['registryPullQPS', 'registry-qps', [0], [-1]],
  ['maxParallelImagePulls', undefined, [1, 2], [0, -1]],
  ['containerLogMaxWorkers', undefined, [1], [0]],
  ['containerLogMaxFiles', 'container-log-max-files', [2], [1, 0]],
];

describe('ranges', () => {
  runCases(
    ranges.flatMap(([field, flag, good, bad]) => [
      ...good.map((value): Case => [`${field} ${value}`, { set: { [field]: value } }]),
      ...bad.map(
        (value): Case => [
          `${field} ${value}`,
          { set: { [field]: value } },
          `${flag === undefined ? field : `${field} (--${flag})`}: ${value} is`,
        ],
      ),
    ]),
  );
  runCases([
    ['--port=0, which a file could not say', { argv: ['--port=0'] }, 'port (--port): 0 is out of range'],
    ['imageGCHighThresholdPercent 101', { set: { imageGCHighThresholdPercent: 101 } }, 'from 0 to 100'],
    ['imageGCLowThresholdPercent -1', { set: { imageGCLowThresholdPercent: -1 } }, 'from 0 to 100'],
    [
      'image thresholds 0 and 100',
      { set: { imageGCLowThresholdPercent: 0, imageGCHighThresholdPercent: 100 } },
    ],
    ['verbosity 2147483647', { set: { logging: { verbosity: 2147483647 } } }],
    [
      'verbosity 2147483648',
      { set: { logging: { verbosity: 2147483648 } } },
      'logging.verbosity (--v): 2147483648',
    ],
    [
      'vmodule verbosity 2147483648',
      { set: { logging: { vmodule: [{ filePattern: 'a', verbosity: 2147483648 }] } } },
      'logging.vmodule[0].verbosity (--vmodule): 2147483648',
    ],
    ['sampling rate 0', { set: { tracing: { samplingRatePerMillion: 0 } } }],
    ['sampling rate 1000000', { set: { tracing: { samplingRatePerMillion: 1000000 } } }],
    [
      'sampling rate -1',
      { set: { tracing: { samplingRatePerMillion: -1 } } },
      'tracing.samplingRatePerMillion: -1',
    ],
    ['sampling rate 1000001', { set: { tracing: { samplingRatePerMillion: 1000001 } } }, 'from 0 to 1000000'],
    ['containerLogMonitorInterval 3s', { set: { containerLogMonitorInterval: '3s' } }],
    ['containerLogMonitorInterval 2.9s', { set: { containerLogMonitorInterval: '2.9s' } }, 'too short'],
    ['containerLogMonitorInterval -1s', { set: { containerLogMonitorInterval: '-1s' } }, 'too short'],
    ['containerLogMonitorInterval 0s', { set: { containerLogMonitorInterval: '0s' } }, 'too short'],
  ]);
});

const words: readonly (readonly [field: string, good: readonly string[], bad: string])[] = [
  ['topologyManagerPolicy', ['none', 'best-effort', 'restricted', 'single-numa-node'], 'strict'],
  ['topologyManagerScope', ['container', 'pod'], 'node'],
  ['hairpinMode', ['none', 'hairpin-veth', 'promiscuous-bridge'], 'bridge'],
  ['cpuManagerPolicy', ['none'], 'dynamic'],
  ['memoryManagerPolicy', ['None', 'Static'], 'static'],
  ['configMapAndSecretChangeDetectionStrategy', ['Get', 'Cache', 'Watch'], 'watch'],
  ['tlsMinVersion', ['', 'VersionTLS10', 'VersionTLS11', 'VersionTLS12', 'VersionTLS13'], 'TLS1.2'],
];

describe('words', () => {
  runCases(
    words.flatMap(([field, good, bad]) => [
      ...good.map((word): Case => [`${field} ${word}`, { set: { [field]: word } }]),
      [`${field} ${bad}`, { set: { [field]: bad } }, `"${bad}" is not allowed, must be one of`] as Case,
    ]),
  );
  runCases([
    ['authorization mode AlwaysAllow', { set: { authorization: { mode: 'AlwaysAllow' } } }],
    [
      'authorization mode RBAC',
      { set: { authorization: { mode: 'RBAC' } } },
      'authorization.mode (--authorization-mode): "RBAC" is not allowed',
    ],
    ['swapBehavior NoSwap', { set: { memorySwap: { swapBehavior: 'NoSwap' } } }],
    ['swapBehavior LimitedSwap', { set: { memorySwap: { swapBehavior: 'LimitedSwap' } } }],
    [
      'swapBehavior UnlimitedSwap',
      { set: { memorySwap: { swapBehavior: 'UnlimitedSwap' } } },
      'memorySwap.swapBehavior',
    ],
    ['log format json', { set: { logging: { format: 'json' } } }],
    ['log format xml', { set: { logging: { format: 'xml' } } }, 'logging.format (--logging-format): "xml"'],
  ]);
});

describe('gates', () => {
  const shutdownGates = [
    'GracefulNodeShutdown',
    'GracefulNodeShutdownBasedOnPodPriority',
    'WindowsGracefulNodeShutdown',
  ];
  const cases: readonly (readonly [gate: string, set: Readonly<Record<string, unknown>>, where: string])[] = [
    ['CustomCPUCFSQuotaPeriod', { cpuCFSQuotaPeriod: '200ms' }, 'cpuCFSQuotaPeriod (--cpu-cfs-quota-period)'],
    [
      'RotateKubeletServerCertificate',
      { serverTLSBootstrap: true },
      'serverTLSBootstrap (--rotate-server-certificates)',
    ],
    [
      'GracefulNodeShutdownBasedOnPodPriority',
      { shutdownGracePeriodByPodPriority: [{ priority: 1, shutdownGracePeriodSeconds: 1 }] },
      'shutdownGracePeriodByPodPriority',
    ],
    [
      'KubeletCrashLoopBackOffMax',
      { crashLoopBackOff: { maxContainerRestartPeriod: '3s' } },
      'crashLoopBackOff.maxContainerRestartPeriod',
    ],
    [
      'KubeletEnsureSecretPulledImages',
      { imagePullCredentialsVerificationPolicy: 'NeverVerify' },
      'imagePullCredentialsVerificationPolicy',
    ],
    [
      'LoggingAlphaOptions',
      { logging: { options: { text: { splitStream: true } } } },
      'logging.options.text.splitStream (--log-text-split-stream)',
    ],
    [
      'LoggingAlphaOptions',
      { logging: { options: { text: { infoBufferSize: '1Ki' } } } },
      'logging.options.text.infoBufferSize',
    ],
    [
      'LoggingAlphaOptions',
      { logging: { options: { json: { splitStream: true } } } },
      'logging.options.json.splitStream',
    ],
    [
      'LoggingAlphaOptions',
      { logging: { options: { json: { infoBufferSize: '1Ki' } } } },
      'logging.options.json.infoBufferSize',
    ],
  ];
  runCases(
    cases.flatMap(([gate, set, where]): readonly Case[] => [
      [
        `${where} with ${gate}`,
        { set, on: [gate] },
        ...(gate === 'LoggingAlphaOptions' ? [`${gate} cannot be enabled`] : []),
      ],
      [`${where} without ${gate}`, { set, off: [gate] }, where],
    ]),
  );
  runCases([
    ['the CFS default without its gate', { set: { cpuCFSQuotaPeriod: '100ms' } }],
    [
      'zero info buffers without the gate',
      { set: { logging: { options: { json: { infoBufferSize: 0 } } } } },
    ],
    [
      'an allowlist without its gate',
      {
        set: { preloadedImagesVerificationAllowlist: ['a.io/b'] },
        off: ['KubeletEnsureSecretPulledImages'],
      },
      'preloadedImagesVerificationAllowlist: needs the feature gate',
    ],
    [
      'the json log without LoggingBetaOptions',
      { set: { logging: { format: 'json' } }, off: ['LoggingBetaOptions'] },
      'logging.format',
    ],
    [
      'an unknown gate beside an invalid field',
      { on: ['NoSuchGate'], set: { maxPods: -1 } },
      'unrecognized feature gate: NoSuchGate',
      'maxPods (--max-pods): -1',
    ],
    [
      'an unknown gate',
      { on: ['NoSuchGate'] },
      'featureGates (--feature-gates): unrecognized feature gate: NoSuchGate',
    ],
    ['a locked gate at its default', { on: ['NodeSwap'] }],
    [
      'a locked gate changed',
      { off: ['NodeSwap'] },
      'cannot set feature gate NodeSwap to false, feature is locked to true',
    ],
    ['a deprecated gate changed', { on: ['KMSv1'] }],
    ['MemoryQoS on', { on: ['MemoryQoS'] }],
    [
      'a shutdown grace period without its gate',
      { set: { shutdownGracePeriod: '1s' }, off: shutdownGates },
      'shutdownGracePeriod',
    ],
  ]);
});
