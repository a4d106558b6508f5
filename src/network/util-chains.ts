// The chains and rules that the kubelet keeps for other programs of the host. Data only.
// Upstream: syncIPTablesRules in pkg/kubelet/kubelet_network_linux.go.
// Invariant: to the kernel the rule of KUBE-FIREWALL is the one that kube-proxy writes, so that neither adds a second one.
import type { IpChain, IpFamily, IpRule } from '../api/ports/iptables.ts';

type UtilPart = ({ readonly kind: 'chain' } & IpChain) | ({ readonly kind: 'rule' } & IpRule);

/** Shows other programs whether the host uses iptables-legacy or iptables-nft. Empty. */
const hint: UtilPart = { kind: 'chain', table: 'mangle', chain: 'KUBE-IPTABLES-HINT' };

const firewall = 'KUBE-FIREWALL';

/** kube-proxy sets route_localnet, with which neighbours of the node could reach its loopback addresses. IPv4 only. */
const localnetFirewall: readonly UtilPart[] = [
  { kind: 'chain', table: 'filter', chain: firewall },
  { kind: 'rule', table: 'filter', chain: 'OUTPUT', position: 'first', spec: ['-j', firewall] },
  { kind: 'rule', table: 'filter', chain: 'INPUT', position: 'first', spec: ['-j', firewall] },
  {
    kind: 'rule',
    table: 'filter',
    chain: firewall,
    position: 'last',
    spec: [
      ['-m', 'comment', '--comment', 'block incoming localnet connections'],
      ['--dst', '127.0.0.0/8', '!', '--src', '127.0.0.0/8'],
      ['-m', 'conntrack', '!', '--ctstate', 'RELATED,ESTABLISHED,DNAT'],
      ['-j', 'DROP'],
    ].flat(),
  },
];

/** In the order in which they are made. */
export const utilParts: Readonly<Record<IpFamily, readonly UtilPart[]>> = {
  IPv4: [hint, ...localnetFirewall],
  IPv6: [hint],
};

/** Empty chains whose absence shows that a table was flushed. In the order in which they are made. */
export const canaries: readonly IpChain[] = (['mangle', 'nat', 'filter'] as const).map((table) => ({
  table,
  chain: 'KUBE-KUBELET-CANARY',
}));
