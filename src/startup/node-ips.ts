// Parses and checks the node addresses of --node-ip. Pure.
// Upstream: component-helpers/node/util (ParseNodeIPArgument) and validateNodeIP in pkg/kubelet/kubelet_node_status.go.

import { isLinkLocal, isLoopback, isMulticast, isUnspecified, parseIp } from '../api/k8s/ip-address.ts';
import { KubeletError } from '../base/errors.ts';

interface NodeIps {
  /** None, one, or one of each family with the preferred first, in canonical form. 0.0.0.0 or :: alone selects a family. */
  readonly ips: readonly string[];
  /** Entries that are not addresses. Upstream ignores them, and existing clusters rely on that. */
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
      throw invalid(flag, 'must be one address, or one IPv4 and one IPv6 address');
    const { cloudProvider } = options;
    if (cloudProvider !== '' && cloudProvider !== 'external')
      throw invalid(flag, `dual-stack is not supported with --cloud-provider=${cloudProvider}`);
    if (ips.some(isUnspecified)) throw invalid(flag, '0.0.0.0 and :: are not allowed in a pair');
  }
  return { ips: ips.map(({ text }) => text), ignored };
}

function invalid(flag: string, problem: string): KubeletError {
  return new KubeletError(
    'invalid',
    'InvalidNodeIP',
    `invalid --node-ip ${JSON.stringify(flag)}: ${problem}`,
    {
      details: { flag: 'node-ip', value: flag },
    },
  );
}

/** Why the address cannot be a node IP; undefined when it can. `hostAddresses` are those of all interfaces. */
export function nodeIpProblem(text: string, hostAddresses: readonly string[]): string | undefined {
  const ip = parseIp(text);
  if (ip === undefined) return 'is not an IP address';
  if (isLoopback(ip)) return 'is a loopback address';
  if (isMulticast(ip)) return 'is a multicast address';
  if (isLinkLocal(ip)) return 'is a link-local address';
  if (isUnspecified(ip)) return 'is the unspecified address';
  const isOnHost = hostAddresses.some((each) => parseIp(each.replace(/%.*/, ''))?.text === ip.text);
  return isOnHost ? undefined : 'is not assigned to any network interface of this host';
}
