import { expect, test } from 'vitest';
import { anObservedPod, aSandbox as sandbox } from '../../../test/builders/builders.ts';
import type { ObservedPod, ObservedSandbox } from './observed.ts';
import { computePodAddresses } from './pod-ips.ts';

const v4 = '10.0.0.5';
const v6 = 'fd00::5';
const node4 = '192.0.2.7';
const node6 = '2001:db8::7';
const had = { podIPs: [{ ip: v4 }] };
const seen = (sandboxes: readonly ObservedSandbox[]): ObservedPod => anObservedPod({ sandboxes });
const gone = sandbox({ ready: false, ips: [] });

type Case = readonly [string, ObservedPod | undefined, boolean, readonly string[], object, readonly string[]];

const cases: readonly Case[] = [
  ['no sandbox', undefined, false, [node4], {}, []],
  ['one address', seen([sandbox({ ips: [v4] })]), false, [node4], {}, [v4]],
  ['the family of the node comes first', seen([sandbox({ ips: [v4, v6] })]), false, [node6], {}, [v6, v4]],
  ['without node addresses IPv4 comes first', seen([sandbox({ ips: [v6, v4] })]), false, [], {}, [v4, v6]],
  [
    'one of each family',
    seen([sandbox({ ips: [v4, '10.0.0.6', v6, 'fd00::6'] })]),
    false,
    [node4],
    {},
    [v4, v6],
  ],
  ['normalized', seen([sandbox({ ips: ['FD00:0:0::0005', '010.0.0.5'] })]), false, [], {}, [v4, v6]],
  [
    'invalid addresses are omitted',
    seen([sandbox({ ips: ['', 'x', '1.2.3.999', 'a:b:zz'] })]),
    false,
    [],
    {},
    [],
  ],
  ['a stopped pod keeps its addresses', seen([gone]), false, [node4], had, [v4]],
  ['also if its sandbox is gone', undefined, false, [node4], had, [v4]],
  ['a sandbox without address has none', seen([sandbox({ ips: [] })]), false, [node4], had, []],
  ['an old ready sandbox does not count', seen([gone, sandbox({ ips: [v4] })]), false, [node4], {}, []],
  ['host network: the node', undefined, true, [node4], {}, [node4]],
  ['host network: both families', undefined, true, [node4, node6], {}, [node4, node6]],
  [
    'host network: a second of the same family is not added',
    undefined,
    true,
    [node4, '192.0.2.8'],
    {},
    [node4],
  ],
  [
    'host network: addresses are kept, a second family is added',
    undefined,
    true,
    [node4, node6],
    had,
    [v4, node6],
  ],
  ['host network without an API server', undefined, true, [], {}, []],
];

for (const [name, observed, hostNetwork, hostIPs, before, want] of cases) {
  test(`computePodAddresses: ${name}`, () => {
    const addresses = computePodAddresses(observed, hostNetwork, hostIPs, before);
    expect(addresses.podIPs?.map(({ ip }) => ip) ?? []).toEqual(want);
    expect(addresses.podIP).toBe(want[0]);
    expect(addresses.hostIPs?.map(({ ip }) => ip) ?? []).toEqual(hostIPs);
    expect(addresses.hostIP).toBe(hostIPs[0]);
  });
}
