import { describe, expect, test } from 'vitest';
import { loadCommandLine, type Outcome } from '../command-line/load-command-line.ts';
import { renderConfigz } from '../configz.ts';
import { header, memoryFiles } from '../fixtures/memory-files.ts';

async function load(
  argv: readonly string[],
  contents: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  return loadCommandLine({ argv, files: memoryFiles(contents) });
}

async function run(
  argv: readonly string[],
  contents: Readonly<Record<string, string>> = {},
): Promise<Extract<Outcome, { kind: 'run' }>> {
  const outcome = await load(argv, contents);
  if (outcome.kind !== 'run') throw new Error(outcome.text);
  return outcome;
}

describe('precedence', () => {
  test('without a file, four fields have their legacy defaults and there are no eviction thresholds', async () => {
    const { config } = await run([]);
    expect({
      anonymous: config.authentication.anonymous.enabled,
      webhook: config.authentication.webhook.enabled,
      mode: config.authorization.mode,
      readOnlyPort: config.readOnlyPort,
      evictionHard: config.evictionHard,
    }).toEqual({
      anonymous: true,
      webhook: false,
      mode: 'AlwaysAllow',
      readOnlyPort: 10255,
      evictionHard: {},
    });
  });

  test('with a file, the secure defaults apply', async () => {
    const { config } = await run(['--config=a.yaml'], { '/here/a.yaml': header });
    expect({
      anonymous: config.authentication.anonymous.enabled,
      webhook: config.authentication.webhook.enabled,
      mode: config.authorization.mode,
      readOnlyPort: config.readOnlyPort,
      signals: Object.keys(config.evictionHard),
    }).toEqual({
      anonymous: false,
      webhook: true,
      mode: 'Webhook',
      readOnlyPort: 0,
      signals: [
        'imagefs.available',
        'imagefs.inodesFree',
        'memory.available',
        'nodefs.available',
        'nodefs.inodesFree',
      ],
    });
  });

  test('flags override drop-ins, drop-ins override the file, and gates are merged', async () => {
    const { config, gates } = await run(
      [
        '--config=/k/a.yaml',
        '--config-dir=/k/d',
        '--max-pods=3',
        '--feature-gates=ContainerStopSignals=true',
      ],
      {
        '/k/a.yaml': `${header}maxPods: 1\nport: 1111\nhealthzPort: 1\nclusterDNS: [1.1.1.1]\nfeatureGates: {QOSReserved: true}\n`,
        '/k/d/20.conf': `${header}port: 2222\nclusterDNS: [3.3.3.3]\n`,
        '/k/d/10.conf': `${header}port: 3333\nmaxPods: 2\nfeatureGates: {EnvFiles: false}\n`,
        '/k/d/skipped.yaml': 'nonsense: [',
      },
    );
    expect([config.maxPods, config.port, config.healthzPort, config.clusterDNS]).toEqual([
      3,
      2222,
      1,
      ['3.3.3.3'],
    ]);
    expect([gates.ContainerStopSignals, gates.QOSReserved, gates.EnvFiles, gates.MemoryQoS]).toEqual([
      true,
      true,
      false,
      true,
    ]);
    expect(renderConfigz(config)).toMatchObject({ kubeletconfig: { maxPods: 3, syncFrequency: '1m0s' } });
  });
});
