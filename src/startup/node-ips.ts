// The node's own addresses as --node-ip gives them. Pure.
// Upstream: component-helpers/node/util (ParseNodeIPArgument) and validateNodeIP in pkg/kubelet/kubelet_node_status.go.

import { isLinkLocal, isLoopback, isMulticast, isUnspecified, parseIp } from '../api/k8s/ip-address.ts';
import { KubeletError } from '../base/errors.ts';

interface NodeIps {
  /** None, one, or one of each family with the preferred first. Canonical. 0.0.0.0 or :: alone prefers a family. */
  readonly ips: readonly string[];
  /** What was given and is no address. Upstream goes on without it, and so do clusters that got used to that. */
  readonly ignored: readonly string[];
}

export function parseNodeIps(flag: string, options: { readonly cloudProvider: string }): NodeIps {
  if (flag === '') return { ips: [], ignored: [] };
  const given = flag.split(',').map((each) => each.trim());
  const parsed = given.map((text) => ({ text, ip: parseIp(text) }));
  const ips = parsed.flatMap(({ ip }) => ip ?? []);
  const ignored = parsed.filter(({ ip }) => ip === undefined).map(({ text }) => text);
  const [first, second] = ips;
  if (first !== undefined && second !== undefined) {
    if (ips.length > 2 || first.family === second.family)
      throw refuse(flag, 'it takes one address, or one IPv4 and one IPv6 address');
    const { cloudProvider } = options;
    if (cloudProvider !== '' && cloudProvider !== 'external')
      throw refuse(flag, `two addresses do not go together with --cloud-provider=${cloudProvider}`);
    if (ips.some(isUnspecified)) throw refuse(flag, '0.0.0.0 and :: stand alone, not in a pair');
  }
  return { ips: ips.map(({ text }) => text), ignored };
}

function refuse(flag: string, why: string): KubeletError {
  return new KubeletError('invalid', 'InvalidNodeIP', `bad --node-ip ${JSON.stringify(flag)}: ${why}`, {
    details: { flag: 'node-ip', value: flag },
  });
}

/** Why a node cannot have this address; undefined when it can. `hostAddresses` are those of all its interfaces. */
export function nodeIpProblem(text: string, hostAddresses: readonly string[]): string | undefined {
  const ip = parseIp(text);
  if (ip === undefined) return 'is not an IP address';
  if (isLoopback(ip)) return 'is a loopback address';
  if (isMulticast(ip)) return 'is a multicast address';
  if (isLinkLocal(ip)) return 'is a link-local address';
  if (isUnspecified(ip)) return 'is the unspecified address';
  const isOurs = hostAddresses.some((each) => parseIp(each.replace(/%.*/, ''))?.text === ip.text);
  return isOurs ? undefined : 'is on none of the network interfaces of this host';
}
