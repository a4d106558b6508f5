// The node's addresses for pod statuses and the downward API. Upstream: GetNodeHostIPs in pkg/util/node and getHostIPsAnyWay
// in pkg/kubelet/kubelet_getters.go.
import { parseIp } from '../api/k8s/ip-address.ts';
import type { Node } from '../api/k8s/types.ts';

interface HostIpsDeps {
  readonly ownNode: { get(): Node | undefined };
  /** Of the machine itself, primary first: used while the node's object has no addresses. */
  readonly machineAddresses: readonly string[];
}

export class HostIps {
  readonly #deps: HostIpsDeps;

  constructor(deps: HostIpsDeps) {
    this.#deps = deps;
  }

  /** Primary first; at most one of each family. differs from upstream: a node without a control plane reports its addresses too. */
  current(): readonly string[] {
    const { machineAddresses, ownNode } = this.#deps;
    return hostIpsOf(ownNode.get()) ?? machineAddresses;
  }
}

/** The first internal (else external) address and, in a dual-stack cluster, the first of the other family. */
export function hostIpsOf(node: Node | undefined): readonly string[] | undefined {
  const addresses = node?.status?.addresses;
  if (addresses === undefined) return undefined;
  const ips = ['InternalIP', 'ExternalIP'].flatMap((type) =>
    addresses.filter((each) => each.type === type).map(({ address }) => address),
  );
  const [first] = ips;
  if (first === undefined) return [];
  const family = parseIp(first)?.family;
  const second = ips.find((ip) => parseIp(ip)?.family !== family);
  return second === undefined ? [first] : [first, second];
}
