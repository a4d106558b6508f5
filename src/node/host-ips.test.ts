import { expect, test } from 'vitest';
import { HostIps, hostIpsOf } from './host-ips.ts';

const nodeWith = (...addresses: readonly (readonly [type: string, address: string])[]) => ({
  status: { addresses: addresses.map(([type, address]) => ({ type, address })) },
});

const cases = [
  ['no node object', undefined, undefined],
  ['no addresses field', { status: {} }, undefined],
  ['a host name only', nodeWith(['Hostname', 'n1']), []],
  [
    'internal before external',
    nodeWith(['ExternalIP', '192.0.2.1'], ['InternalIP', '192.0.2.9']),
    ['192.0.2.9'],
  ],
  ['external without an internal one', nodeWith(['ExternalIP', '192.0.2.1']), ['192.0.2.1']],
  [
    'two of one family: the first',
    nodeWith(['InternalIP', '192.0.2.1'], ['InternalIP', '192.0.2.2']),
    ['192.0.2.1'],
  ],
  [
    'dual stack',
    nodeWith(['InternalIP', '2001:db8::1'], ['InternalIP', '192.0.2.2']),
    ['2001:db8::1', '192.0.2.2'],
  ],
] as const;
for (const [name, node, want] of cases)
  test(`hostIpsOf: ${name}`, () => expect(hostIpsOf(node)).toEqual(want));

test("falls back to the machine's addresses until the node has some", () => {
  const own = { get: (): ReturnType<typeof nodeWith> | undefined => undefined };
  const ips = new HostIps({ ownNode: own, machineAddresses: ['192.0.2.7'] });
  expect(ips.current()).toEqual(['192.0.2.7']);
  own.get = () => nodeWith(['InternalIP', '192.0.2.1']);
  expect(ips.current()).toEqual(['192.0.2.1']);
});
