import { describe, expect, test } from 'vitest';
import { aClaim, aPendingClaim, aPersistentVolume } from '../../../test/builders/expansion-rig.ts';
import { Quantity } from '../../api/quantity/quantity.ts';
import { computeExpansion, type ExpansionDecision, type ExpansionInput } from './compute-expansion.ts';

function shown(decision: ExpansionDecision): string {
  if (decision.do === 'adopt-size') return `adopt ${decision.size}`;
  if (decision.do !== 'expand') return decision.do;
  return `expand to ${decision.size}, ${decision.mode}${decision.isLastTry ? ', last try' : ''}`;
}

function decide(over: Partial<ExpansionInput>): string {
  const plain = { isReadOnly: false, isMounted: false, knownSize: undefined, hasFailed: false };
  return shown(computeExpansion({ claim: aClaim(), persistent: aPersistentVolume(), ...plain, ...over }));
}

const shared = { allocated: '2G', capacity: '2G', modes: ['ReadWriteOnce', 'ReadWriteMany'] };
const notRequired = { 'volume.kubernetes.io/node-expansion-not-required': '' };

describe('right after set-up', () => {
  const cases: readonly (readonly [string, Partial<ExpansionInput>, string])[] = [
    ['the claim has the size of the volume', { claim: aClaim({ capacity: '2G' }) }, 'nothing'],
    ['the claim has a larger size', { claim: aPendingClaim({ capacity: '3G' }) }, 'nothing'],
    ['the node is next', { claim: aPendingClaim() }, 'expand to 2G, tracked'],
    [
      'a kubelet was killed in between',
      { claim: aPendingClaim({ status: 'NodeResizeInProgress' }) },
      'expand to 2G, tracked',
    ],
    [
      'the allocated size is smaller than the volume',
      { claim: aPendingClaim({ allocated: '1500M' }) },
      'expand to 1500M, tracked',
    ],
    [
      'a status without an allocated size',
      { claim: aClaim({ status: 'NodeResizePending' }) },
      'expand to 2G, tracked',
    ],
    [
      'the controller is expanding',
      { claim: aPendingClaim({ status: 'ControllerResizeInProgress' }) },
      'nothing',
    ],
    [
      'the controller has given up',
      { claim: aPendingClaim({ status: 'ControllerResizeInfeasible' }) },
      'nothing',
    ],
    ['the node has given up', { claim: aPendingClaim({ status: 'NodeResizeInfeasible' }) }, 'nothing'],
    ['the controller has not recorded its step', { claim: aClaim({ allocated: '2G' }) }, 'nothing'],
    ['an old resizer', { claim: aClaim() }, 'expand to 2G, legacy'],
    ['a claim without a capacity', { claim: { ...aClaim(), status: {} } }, 'expand to 2G, legacy'],
    ['a volume without a capacity', { persistent: { metadata: { name: 'pv' } } }, 'nothing'],
    ['read-only use', { claim: aPendingClaim(), isReadOnly: true }, 'report-read-only'],
    [
      'read-only use of a volume that has its size',
      { claim: aClaim({ capacity: '2G' }), isReadOnly: true },
      'nothing',
    ],
    [
      'the allocated size is reached, the volume grew on',
      { claim: aClaim({ ...shared, modes: [] }), persistent: aPersistentVolume('3G') },
      'adopt 2G',
    ],
    ['an earlier attempt failed', { claim: aPendingClaim(), hasFailed: true }, 'expand to 2G, tracked'],
    [
      'an earlier attempt failed, and another size is requested now',
      { claim: aPendingClaim({ requested: '1500M' }), hasFailed: true },
      'expand to 2G, tracked, last try',
    ],
    ['another size is requested now', { claim: aPendingClaim({ requested: '3G' }) }, 'expand to 2G, tracked'],
  ];
  test.each(cases)('%s', (_, over, want) => expect(decide(over)).toBe(want));
});

describe('while the volume is mounted', () => {
  const mounted = { isMounted: true, knownSize: Quantity.parse('1G') };
  const cases: readonly (readonly [string, Partial<ExpansionInput>, string])[] = [
    ['the node is next', { claim: aPendingClaim() }, 'expand to 2G, tracked'],
    [
      'the known size is that of the volume',
      { claim: aPendingClaim(), knownSize: Quantity.parse('2G') },
      'nothing',
    ],
    ['no size is known', { claim: aPendingClaim(), knownSize: undefined }, 'nothing'],
    ['the known size is zero', { claim: aPendingClaim(), knownSize: Quantity.zero }, 'nothing'],
    ['read-only use', { claim: aPendingClaim(), isReadOnly: true }, 'nothing'],
    ['another node has expanded a shared volume', { claim: aClaim(shared) }, 'expand to 2G, shared'],
    [
      'the driver needs no expansion on nodes',
      { claim: aClaim({ ...shared, annotations: notRequired }) },
      'adopt 2G',
    ],
    [
      'a volume of one node that has its size',
      { claim: aClaim({ ...shared, modes: ['ReadWriteOnce'] }) },
      'adopt 2G',
    ],
    ['an old resizer', { claim: aClaim({ capacity: '2G' }) }, 'expand to 2G, legacy'],
    [
      'a failure of a shared volume never ends its expansion',
      { claim: aClaim({ ...shared, requested: '3G' }), hasFailed: true },
      'expand to 2G, shared',
    ],
  ];
  test.each(cases)('%s', (_, over, want) => expect(decide({ ...mounted, ...over })).toBe(want));
});

// Upstream: TestCheckForRecoveryFromExpansion. Its rows with the feature gate off differ in nothing.
const recovery: readonly (readonly [string, ExpansionInput['claim'], string])[] = [
  ['no resize status or allocated resources', aClaim(), 'expand to 20Gi, legacy'],
  ['a resize status', aClaim({ status: 'NodeResizePending' }), 'expand to 20Gi, tracked'],
  [
    'a resize status and allocated resources',
    aPendingClaim({ allocated: '10Gi' }),
    'expand to 10Gi, tracked',
  ],
];
test.each(recovery)('the recovery from failures needs a resizer that supports it: %s', (_, claim, want) =>
  expect(decide({ claim, persistent: aPersistentVolume('20Gi') })).toBe(want),
);
