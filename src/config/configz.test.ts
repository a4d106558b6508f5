import { describe, expect, test } from 'vitest';
import { loadCommandLine, type RunOutcome } from './command-line/load-command-line.ts';
import { maskedConfiguration, renderConfigz } from './configz.ts';
import { header, memoryFiles } from './fixtures/memory-files.ts';

async function load(fields: Readonly<Record<string, unknown>>): Promise<RunOutcome> {
  const text = Object.entries(fields).map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`);
  const outcome = await loadCommandLine({
    argv: ['--config=/k.yaml'],
    files: memoryFiles({ '/k.yaml': `${header}${text.join('')}` }),
  });
  if (outcome.kind !== 'run') throw new Error(outcome.text);
  return outcome;
}

const rendered = async (
  fields: Readonly<Record<string, unknown>>,
): Promise<Readonly<Record<string, unknown>>> =>
  renderConfigz((await load(fields)).config).kubeletconfig as Readonly<Record<string, unknown>>;

describe('renders a field as upstream does', () => {
  const cases: readonly (readonly [
    given: Readonly<Record<string, unknown>>,
    expected: Readonly<Record<string, unknown>>,
  ])[] = [
    [{ syncFrequency: '90s' }, { syncFrequency: '1m30s' }],
    [{ cpuCFSQuotaPeriod: '100000us' }, { cpuCFSQuotaPeriod: '100ms' }],
    [{ readOnlyPort: 0 }, { readOnlyPort: undefined }],
    [{ healthzPort: 0 }, { healthzPort: 0 }],
    [{ resolvConf: '' }, { resolvConf: '' }],
    [{ clusterDNS: [] }, { clusterDNS: undefined }],
    [{ rotateCertificates: false }, { rotateCertificates: undefined }],
    [{ rotateCertificates: true }, { rotateCertificates: true }],
    [{ enableServer: false }, { enableServer: false }],
    [{ maxParallelImagePulls: 3 }, { maxParallelImagePulls: 3, serializeImagePulls: false }],
    [{ singleProcessOOMKill: false }, { singleProcessOOMKill: false }],
    [{ tracing: {} }, { tracing: {} }],
    [{ tracing: { samplingRatePerMillion: 0 } }, { tracing: { samplingRatePerMillion: 0 } }],
    [{ userNamespaces: { idsPerPod: 65536 } }, { userNamespaces: { idsPerPod: 65536 } }],
    [{ memorySwap: { swapBehavior: 'NoSwap' } }, { memorySwap: { swapBehavior: 'NoSwap' } }],
    [{ systemReserved: { memory: '1Gi', cpu: '1' } }, { systemReserved: { cpu: '1', memory: '1Gi' } }],
    [{ featureGates: { EnvFiles: true } }, { featureGates: { EnvFiles: true } }],
    [
      { reservedMemory: [{ numaNode: 0, limits: { memory: '1024Mi' } }] },
      { reservedMemory: [{ numaNode: 0, limits: { memory: '1Gi' } }] },
    ],
    [
      { registerWithTaints: [{ key: 'a', effect: 'NoSchedule' }] },
      { registerWithTaints: [{ key: 'a', effect: 'NoSchedule' }] },
    ],
    [
      { shutdownGracePeriodByPodPriority: [{ priority: 0, shutdownGracePeriodSeconds: 0 }] },
      { shutdownGracePeriodByPodPriority: [{ priority: 0, shutdownGracePeriodSeconds: 0 }] },
    ],
    [
      { logging: { flushFrequency: 7000000000, vmodule: [{ filePattern: 'a', verbosity: 0 }] } },
      {
        logging: {
          format: 'text',
          flushFrequency: 7000000000,
          verbosity: 0,
          vmodule: [{ filePattern: 'a', verbosity: 0 }],
          options: { text: { infoBufferSize: '0' }, json: { infoBufferSize: '0' } },
        },
      },
    ],
  ];
  for (const [given, expected] of cases) {
    test(JSON.stringify(given), async () => {
      const actual = await rendered(given);
      expect(Object.fromEntries(Object.keys(expected).map((name) => [name, actual[name]]))).toEqual(expected);
    });
  }

  test('sorts maps by key', async () => {
    const { systemReserved } = await rendered({ systemReserved: { pid: '1', cpu: '1' } });
    expect(JSON.stringify(systemReserved)).toBe('{"cpu":"1","pid":"1"}');
  });
});

test('renders the same after loading its own output as a file', async () => {
  const first = await rendered({
    port: 1234,
    staticPodURLHeader: { a: ['b', 'c'] },
    evictionHard: { 'memory.available': '1Gi' },
    memoryThrottlingFactor: 0.5,
    clusterDNS: ['10.0.0.1'],
  });
  const { apiVersion, kind, ...fields } = first;
  expect([apiVersion, kind]).toEqual(['kubelet.config.k8s.io/v1beta1', 'KubeletConfiguration']);
  expect(await rendered(fields)).toEqual(first);
});

test.each([
  ['https://me:geheim@host/pods', 'https://<masked>@host/pods'],
  ['https://host/pods?token=geheim', 'https://host/pods?<masked>'],
])('credentials in staticPodURL %s are masked', async (staticPodURL, shown) => {
  const { config } = await load({ staticPodURL });
  const masked = maskedConfiguration(config) as { readonly staticPodURL: string };
  expect(masked.staticPodURL).toBe(shown);
  expect(JSON.stringify(masked)).not.toContain('geheim');
});

test('masks header values for the log', async () => {
  const { config } = await load({ staticPodURLHeader: { Authorization: ['Bearer geheim'] } });
  const masked = JSON.stringify(maskedConfiguration(config));
  expect(masked).toContain('"staticPodURLHeader":{"Authorization":["<masked>"]}');
  expect(masked).not.toContain('geheim');
});
