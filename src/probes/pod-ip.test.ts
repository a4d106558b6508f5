import { expect, test } from 'vitest';
import { anObservedPod, aPod, aSandbox } from '../../test/builders/builders.ts';
import { asPodUid } from '../api/pod/pod-ref.ts';
import { podIpLookup } from './pod-ip.ts';

const uid = asPodUid('u1');
const observed = anObservedPod({ uid, sandboxes: [aSandbox({ ready: true, ips: ['10.0.0.5'] })] });

test.each([
  ['the sandbox for a pod with its own network', false, observed, '10.0.0.5'],
  ['the node for a host-network pod', true, undefined, '192.0.2.7'],
  ['nothing while the pod has no sandbox', false, undefined, undefined],
] as const)('podIpLookup: returns the address of %s', (_name, hostNetwork, seen, want) => {
  const lookup = podIpLookup({
    desired: { get: () => ({ pod: { ...aPod(), spec: { containers: [], hostNetwork } } }) },
    observed: { get: () => seen },
    nodeIps: () => ['192.0.2.7'],
  });
  expect(lookup(uid)).toBe(want);
});
