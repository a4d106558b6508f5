import { expect, test } from 'vitest';
import type { NodeSelectorRequirement, PersistentVolume } from '../../api/k8s/types.ts';
import { translateTopology } from './topology.ts';

const zone = 'topology.kubernetes.io/zone';
const region = 'topology.kubernetes.io/region';
const betaZone = 'failure-domain.beta.kubernetes.io/zone';
const betaRegion = 'failure-domain.beta.kubernetes.io/region';
const csi = { zone: 'csi/zone' };
const vsphere = { zone: 'csi/zone', region: 'csi/region' };

type Expressions = readonly NodeSelectorRequirement[];
const isIn = (key: string, ...values: string[]): NodeSelectorRequirement => ({ key, operator: 'In', values });

interface Given {
  readonly labels?: Record<string, string>;
  readonly terms?: readonly Expressions[];
}

const aVolume = ({ labels = {}, terms }: Given): PersistentVolume => ({
  metadata: { labels },
  spec: {
    ...(terms && {
      nodeAffinity: {
        required: { nodeSelectorTerms: terms.map((each) => ({ matchExpressions: [...each] })) },
      },
    }),
  },
});

type Row = readonly [
  name: string,
  given: Given,
  keys: typeof csi,
  wanted: readonly Expressions[] | undefined,
];

const rows: readonly Row[] = [
  ['has nothing to translate', {}, csi, undefined],
  ['renames the zone', { terms: [[isIn(zone, 'a')]] }, csi, [[isIn('csi/zone', 'a')]]],
  ['renames the beta zone', { terms: [[isIn(betaZone, 'a')]] }, csi, [[isIn('csi/zone', 'a')]]],
  [
    'renames the beta region with the beta zone',
    { terms: [[isIn(betaZone, 'a'), isIn(betaRegion, 'r')]] },
    csi,
    [[isIn('csi/zone', 'a'), isIn(region, 'r')]],
  ],
  [
    'keeps the beta region beside the current zone',
    { terms: [[isIn(zone, 'a'), isIn(betaRegion, 'r')]] },
    csi,
    [[isIn('csi/zone', 'a'), isIn(betaRegion, 'r')]],
  ],
  [
    'renames the current zone only, if both are given',
    { terms: [[isIn(zone, 'a')], [isIn(betaZone, 'b')]] },
    csi,
    [[isIn('csi/zone', 'a')], [isIn(betaZone, 'b')]],
  ],
  [
    'prefers the affinity to the label',
    { labels: { [zone]: 'b' }, terms: [[isIn(zone, 'a')]] },
    csi,
    [[isIn('csi/zone', 'a')]],
  ],
  [
    'takes the zones of the label, sorted and without blanks and repetitions',
    { labels: { [zone]: 'b__ a__b__' } },
    csi,
    [[isIn('csi/zone', 'a', 'b')]],
  ],
  [
    'adds the zones of the label to every term',
    { labels: { [betaZone]: 'a' }, terms: [[isIn('x', '1')], []] },
    csi,
    [[isIn('x', '1'), isIn('csi/zone', 'a')], [isIn('csi/zone', 'a')]],
  ],
  [
    'adds the zones of the label where the affinity has the key without values',
    { labels: { [zone]: 'a' }, terms: [[{ key: zone, operator: 'Exists' }]] },
    csi,
    [[{ key: zone, operator: 'Exists' }, isIn('csi/zone', 'a')]],
  ],
  ['ignores a label without zones', { labels: { [zone]: '__' } }, csi, undefined],
  [
    'of vSphere: renames zone and region',
    { terms: [[isIn(zone, 'a'), isIn(region, 'r')]] },
    vsphere,
    [[isIn('csi/zone', 'a'), isIn('csi/region', 'r')]],
  ],
  [
    'of vSphere: takes each label as one value',
    { labels: { [betaZone]: 'a__b', [betaRegion]: 'r' } },
    vsphere,
    [[isIn('csi/zone', 'a__b'), isIn('csi/region', 'r')]],
  ],
];
for (const [name, given, keys, wanted] of rows)
  test(`the node affinity ${name}`, () => {
    const affinity = translateTopology(aVolume(given), keys);
    expect(affinity?.required?.nodeSelectorTerms.map((term) => term.matchExpressions)).toStrictEqual(wanted);
  });

test('refuses a label that is longer than the API allows', () => {
  const labels = { [zone]: 'a__'.repeat(1000) };
  expect(() => translateTopology(aVolume({ labels }), csi)).toThrow(
    'failed to translate in-tree pv to CSI: failed to translate topology: the label topology.kubernetes.io/zone is longer than 63 characters',
  );
});
