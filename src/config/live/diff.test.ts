import { describe, expect, test } from 'vitest';
import { Duration } from '../duration.ts';
import { legacyConfiguration } from '../load/complete.ts';
import type { Schema } from '../schema.ts';
import { type KubeletConfiguration, kubeletConfiguration } from '../table/kubelet-configuration.ts';
import { appliesByPath, type ConfigChange, diffConfiguration, inForceAfter } from './diff.ts';

const base = legacyConfiguration({});
const withGate = (name: string, on: boolean): Partial<KubeletConfiguration> => ({
  featureGates: { [name]: on },
});

const now = (path: string): ConfigChange => ({ path, applies: 'now' });
const restart = (path: string): ConfigChange => ({ path, applies: 'restart' });

const cases: readonly (readonly [
  string,
  Partial<KubeletConfiguration>,
  Partial<KubeletConfiguration>,
  readonly ConfigChange[],
])[] = [
  ['nothing changed', {}, {}, []],
  [
    'equal values of other identity',
    { evictionHard: { 'memory.available': '1Gi', 'nodefs.available': '10%' } },
    {
      evictionHard: { 'nodefs.available': '10%', 'memory.available': '1Gi' },
      syncFrequency: new Duration(60_000_000_000n),
    },
    [],
  ],
  ['a field in an object', {}, { logging: { ...base.logging, verbosity: 4 } }, [now('logging.verbosity')]],
  ['an entry of a map', {}, { evictionHard: { 'memory.available': '1Gi' } }, [now('evictionHard')]],
  [
    'the order of a list',
    { clusterDNS: ['a', 'b'] },
    { clusterDNS: ['b', 'a'] },
    [{ path: 'clusterDNS', applies: 'new-pods' }],
  ],
  [
    'a field that is set for the first time',
    {},
    { maxParallelImagePulls: 3 },
    [now('maxParallelImagePulls')],
  ],
  ['a field that is no longer set', { maxParallelImagePulls: 3 }, {}, [now('maxParallelImagePulls')]],
  [
    'an object that appears, though none of its fields is set',
    {},
    { tracing: { endpoint: undefined, samplingRatePerMillion: undefined } },
    [restart('tracing')],
  ],
  [
    'a field in an optional object',
    { userNamespaces: { idsPerPod: 65_536 } },
    { userNamespaces: { idsPerPod: 131_072 } },
    [restart('userNamespaces.idsPerPod')],
  ],
  [
    'a list of objects',
    {},
    { registerWithTaints: [{ key: 'a', value: '', effect: 'NoSchedule', timeAdded: undefined }] },
    [restart('registerWithTaints')],
  ],
  [
    'several fields, in the order of the table',
    {},
    { syncFrequency: Duration.ofMs(1000), port: 1, evictionSoft: { 'memory.available': '1Gi' } },
    [now('syncFrequency'), restart('port'), now('evictionSoft')],
  ],
  ['a gate', {}, withGate('NodeSwap', false), [restart('featureGates')]],
  [
    'a field under a gate that the same change switches',
    withGate('CustomCPUCFSQuotaPeriod', false),
    { ...withGate('CustomCPUCFSQuotaPeriod', true), cpuCFSQuotaPeriod: Duration.ofMs(50) },
    [restart('cpuCFSQuotaPeriod'), restart('featureGates')],
  ],
  [
    'a field under a gate of which the change only names the default',
    {},
    { ...withGate('CustomCPUCFSQuotaPeriod', true), cpuCFSQuotaPeriod: Duration.ofMs(50) },
    [{ path: 'cpuCFSQuotaPeriod', applies: 'new-pods' }, restart('featureGates')],
  ],
];

describe('diffConfiguration', () => {
  test.each(cases)('%s', (_, before, after, want) => {
    expect(diffConfiguration({ ...base, ...before }, { ...base, ...after })).toEqual(want);
  });

  test('names every leaf of the table when all of them change', () => {
    const other = everyLeaf(kubeletConfiguration, 'other') as KubeletConfiguration;
    const unlike = everyLeaf(kubeletConfiguration, 'unlike') as KubeletConfiguration;
    const gates = { featureGates: {} };
    const changes = diffConfiguration({ ...other, ...gates }, { ...unlike, ...gates });
    const byPath = new Map([...appliesByPath()].filter(([path]) => path !== 'featureGates'));
    expect(new Map(changes.map(({ path, applies }) => [path, applies]))).toEqual(byPath);
  });
});

function everyLeaf(schema: Schema, value: string): object {
  return Object.fromEntries(
    Object.entries(schema).map(([name, field]) => [
      name,
      field.kind === 'object' ? everyLeaf(field.fields ?? {}, value) : value,
    ]),
  );
}

describe('inForceAfter', () => {
  const next = {
    ...base,
    port: 1,
    maxPods: 7,
    logging: { ...base.logging, verbosity: 4, format: 'json' as const },
  };
  const inForce = inForceAfter(base, next);

  test('takes what needs no restart and keeps the rest, within one object too', () => {
    expect(inForce).toEqual({ ...base, maxPods: 7, logging: { ...base.logging, verbosity: 4 } });
  });

  test('keeps the identity of what did not change', () => {
    expect(inForce.evictionHard).toBe(base.evictionHard);
    expect(inForceAfter(base, legacyConfiguration({}))).toBe(base);
  });
});
