// The kubelet's chains in the host's iptables, created by a whole kubelet on the fake runtime.
import { afterEach, describe, expect, test } from 'vitest';
import { raceAbort } from '../../../src/base/abort/race-abort.ts';
import { aPod } from '../../builders/builders.ts';
import { FakeNode } from '../../simulate/fake-node.ts';

let node: FakeNode;
afterEach(async () => await node.stop());

describe('iptables of a whole kubelet', () => {
  test('has the chains after the start, over a restart and after a flush', async () => {
    node = new FakeNode();
    await node.start();
    const created = { IPv4: node.iptables.content('IPv4'), IPv6: node.iptables.content('IPv6') };
    expect(created.IPv4).toMatchObject({
      'mangle KUBE-IPTABLES-HINT': [],
      'filter INPUT': ['-j KUBE-FIREWALL'],
    });
    expect(created.IPv6).toMatchObject({ 'mangle KUBE-IPTABLES-HINT': [] });
    await node.stop();
    await node.start();
    node.iptables.flush('IPv4', 'mangle', 'nat', 'filter');
    await node.clock.advance(60_000);
    expect(node.iptables.content('IPv4')).toEqual(created.IPv4);
    expect(node.iptables.content('IPv6')).toEqual(created.IPv6);
  });

  test('a program that hangs delays neither a pod nor the stop', async () => {
    node = new FakeNode();
    node.iptables.before = (_call, signal) => raceAbort(new Promise<never>(() => undefined), signal);
    await node.start();
    node.write('p.yaml', aPod());
    await node.clock.advance(5_000);
    expect(node.calls()).toContain('StartContainer');
  });

  test('makeIPTablesUtilChains: false runs nothing', async () => {
    node = new FakeNode({ config: { makeIPTablesUtilChains: false } });
    await node.start();
    await node.clock.advance(120_000);
    expect(node.iptables.calls).toEqual([]);
  });

  test('iptablesMasqueradeBit and iptablesDropBit change nothing', async () => {
    node = new FakeNode({ config: { iptablesMasqueradeBit: 1, iptablesDropBit: 2 } });
    await node.start();
    const own = new FakeNode();
    await own.start();
    expect(node.iptables.content('IPv4')).toEqual(own.iptables.content('IPv4'));
    await own.stop();
  });
});
