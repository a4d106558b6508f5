// Compares the tables with the flags, gates and /configz of the upstream kubelet v1.37.0.
import { describe, expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { allFlags, flagByFormerName, flagByName } from './command-line/flag-index.ts';
import { flagDefault, helpText, shownType } from './command-line/help.ts';
import { loadCommandLine } from './command-line/load-command-line.ts';
import { removedFlags } from './command-line/removed-flags.ts';
import { renderConfigz } from './configz.ts';
import { effectiveConfigz } from './fixtures/effective-configz.ts';
import { header, memoryFiles } from './fixtures/memory-files.ts';
import { upstreamFlags, upstreamGates } from './fixtures/upstream-facts.ts';
import { defaultGates, listedGates } from './gates/feature-gates.ts';
import { kubeletConfiguration } from './table/kubelet-configuration.ts';
import { kubeletVersion } from './version.ts';

const lines = (text: string): readonly string[] => text.trim().split('\n');

describe('flags', () => {
  const shared = allFlags.filter(({ spec }) => spec.own !== true);

  test('only sixteen are not upstream’s', () => {
    expect(allFlags.filter((entry) => !shared.includes(entry)).map(({ name }) => name)).toEqual([
      'allow-get-streams',
      'auto-reserve',
      'autonomy',
      'dashboard-address',
      'dashboard-port',
      'device-plugin-dir',
      'device-plugin-wait',
      'enable-heap-snapshots',
      'eviction-memory-source',
      'history-log-lines',
      'history-max-size',
      'image-gc-keep',
      'live-config',
      'live-config-watch-period',
      'ready-requires-csi-drivers',
      'ready-requires-device-plugins',
    ]);
  });

  test('have the names, types, defaults and deprecations of upstream', () => {
    const ours = shared.map((entry) =>
      [
        entry.name,
        entry.short ?? '',
        shownType(entry),
        flagDefault(entry),
        entry.deprecated === undefined ? '' : 'deprecated',
      ].join('|'),
    );
    const theirs = lines(upstreamFlags).toSorted();
    expect(ours.toSorted()).toEqual(theirs);
    expect([theirs.length, theirs.filter((line) => line.endsWith('deprecated')).length]).toEqual([131, 107]);
  });

  test('no existing flag is listed as removed', () => {
    const existing = new Set([...flagByName.keys(), ...flagByFormerName.keys()]);
    expect([...removedFlags.keys()].filter((name) => existing.has(name))).toEqual([]);
    expect([...flagByFormerName.keys()].filter((name) => flagByName.has(name))).toEqual([]);
  });

  test('are all in the help text', () => {
    const help = helpText();
    expect(allFlags.filter(({ name }) => !help.includes(`--${name}`)).map(({ name }) => name)).toEqual([]);
    const long = help.split('\n').filter((line) => line.length > 120);
    expect(long).toEqual([]);
  });
});

test('the alpha and beta gates are those that upstream lists', () => {
  expect(listedGates().map(({ name, spec }) => `${name} ${spec.stage} ${spec.default}`)).toEqual(
    lines(upstreamGates),
  );
  expect(Object.keys(defaultGates)).toHaveLength(254);
});

test('the configuration has the 126 fields of v1beta1', () => {
  expect(Object.keys(kubeletConfiguration)).toHaveLength(126);
});

test('the effective configuration equals upstream’s for the same input, in the same order', async () => {
  const text = `${header}
staticPodPath: DIR/manifests
authentication: {x509: {clientCAFile: DIR/pki/ca.crt}}
clusterDomain: cluster.local
clusterDNS: [10.96.0.10]
oomScoreAdj: 0
evictionHard: {nodefs.available: 2%, memory.available: 100Mi, imagefs.available: 2%}
failSwapOn: false
failCgroupV1: false
containerRuntimeEndpoint: unix:///DIR/proxy.sock
`;
  const outcome = await loadCommandLine({
    argv: ['--config=/DIR/config.yaml', '--cert-dir=/DIR/pki', '--v=2'],
    files: memoryFiles({ '/DIR/config.yaml': text.replaceAll(' DIR/', ' /DIR/') }),
  });
  if (outcome.kind !== 'run') throw new Error(outcome.text);
  const ours = JSON.stringify(renderConfigz(outcome.config)).replaceAll('/DIR', 'DIR');
  expect(ours).toBe(JSON.stringify(effectiveConfigz));
});

test('the version is upstream’s with this project’s version after the plus', () => {
  expect(kubeletVersion).toBe(`v1.37.0+ts.${packageJson.version}`);
});
