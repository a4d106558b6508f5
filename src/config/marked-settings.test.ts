import { expect, test } from 'vitest';
import { loadCommandLine } from './command-line/load-command-line.ts';
import { header, memoryFiles } from './fixtures/memory-files.ts';
import { markedSettings, type SettingWarning } from './marked-settings.ts';

async function warningsOf(text: string, argv: readonly string[] = []): Promise<readonly SettingWarning[]> {
  const outcome = await loadCommandLine({
    argv: ['--config=/k.yaml', ...argv],
    files: memoryFiles({ '/k.yaml': `${header}${text}` }),
  });
  if (outcome.kind !== 'run') throw new Error(outcome.text);
  return outcome.settingWarnings;
}

const noEffectYet = 'Setting has no effect in this kubelet yet';

test('does not warn about defaults, with a configuration file and without', async () => {
  const without = await loadCommandLine({ argv: [], files: memoryFiles({}) });
  expect(without.kind === 'run' ? without.settingWarnings : without).toEqual([]);
  expect(await warningsOf('')).toEqual([]);
});

test('does not warn about a value that equals the default, whatever its notation', async () => {
  const text = `shutdownGracePeriod: 0s
logging: {flushFrequency: 5000000000}
containerLogMaxFiles: 5
featureGates: {EventedPLEG: false, GracefulNodeShutdown: true}
`;
  expect(await warningsOf(text)).toEqual([]);
});

test('warns once about a changed setting without effect, with its field and flag', async () => {
  const text = 'logging: {vmodule: [{filePattern: a, verbosity: 3}]}\n';
  expect(await warningsOf(text, ['--vmodule=b=4'])).toEqual([
    {
      message: noEffectYet,
      values: { field: 'logging.vmodule', flag: '--vmodule', missing: 'log verbosity by file' },
    },
  ]);
});

test('warns about a changed flag without effect', async () => {
  expect(await warningsOf('', ['--experimental-mounter-path=/m'])).toEqual([
    {
      message: noEffectYet,
      values: { flag: '--experimental-mounter-path', missing: 'mounting by an external program' },
    },
  ]);
});

test('warns about a changed gate of the kubelet, and not about one of another component', async () => {
  const text = 'featureGates: {NativeHistograms: false, ContextualLogging: false, OpenAPIEnums: false}\n';
  expect(await warningsOf(text)).toEqual([
    {
      message: 'Setting has no effect in this kubelet',
      values: { gate: 'ContextualLogging', reason: 'log lines carry their context in any case' },
    },
    {
      message: noEffectYet,
      values: { gate: 'NativeHistograms', missing: 'native histograms' },
    },
  ]);
});

test('warns about a changed setting that is only partly in effect', async () => {
  expect(await warningsOf('featureGates: { SELinuxMount: false }\n')).toEqual([
    {
      message: 'Setting has only part of its effect in this kubelet yet',
      values: {
        gate: 'SELinuxMount',
        detail: 'iSCSI and Fibre Channel volumes are mounted without an SELinux context',
      },
    },
  ]);
});

test('lists no setting twice', () => {
  const names = markedSettings.map(({ field, flag, gate }) => field ?? flag ?? gate);
  expect(new Set(names).size).toBe(names.length);
});
