// Computes the addresses in the Node status. Pure. Upstream: NodeAddress in pkg/kubelet/nodestatus/setters.go.
import { isLinkLocal, isLoopback, isMulticast, isUnspecified, parseIp } from '../api/k8s/ip-address.ts';
import type { NodeAddress } from '../api/k8s/types.ts';
import type { NodeNetwork } from './node-facts.ts';
import type { NodeSettings } from './node-settings.ts';

export const providedIpAnnotation = 'alpha.kubernetes.io/provided-node-ip';

type AddressSettings = Pick<NodeSettings, 'hostname' | 'nodeIps' | 'externalCloudProvider'>;

interface AddressResult {
  readonly addresses: readonly NodeAddress[];
  /** For an external cloud provider: the addresses set by --node-ip. */
  readonly providedIps: string | undefined;
  /** Why the addresses are left unchanged. */
  readonly problem: string | undefined;
}

export function computeAddresses(
  before: readonly NodeAddress[],
  settings: AddressSettings,
  network: NodeNetwork,
): AddressResult {
  const { externalCloudProvider, hostname, nodeIps } = settings;
  const specified = nodeIps.filter((ip) => !isUnspecifiedText(ip));
  for (const ip of specified) {
    const problem = nodeIpProblem(ip, network.hostAddresses);
    if (problem !== undefined) return { addresses: before, providedIps: undefined, problem };
  }
  const providedIps = externalCloudProvider && specified.length > 0 ? specified.join(',') : undefined;
  // Addresses set by the cloud provider take precedence over those that the node detects.
  if (externalCloudProvider && before.length > 0)
    return { addresses: before, providedIps, problem: undefined };
  const host: NodeAddress = { type: 'Hostname', address: hostname };
  if (externalCloudProvider && nodeIps.length === 0)
    return { addresses: [host], providedIps, problem: undefined };
  const ips = specified.length > 0 ? specified : ownAddress(settings, network);
  if (ips.length === 0)
    return { addresses: before, providedIps, problem: `can't get ip address of node ${hostname}` };
  const internal = ips.map((address): NodeAddress => ({ type: 'InternalIP', address }));
  return { addresses: [...internal, host], providedIps, problem: undefined };
}

/** The host name if it is an address; else its resolved address if on this host; else that of the default interface. */
function ownAddress({ hostname, nodeIps }: AddressSettings, network: NodeNetwork): readonly string[] {
  const literal = parseIp(hostname);
  if (literal !== undefined) return [literal.text];
  const prefersIpv6 = nodeIps[0] === '::';
  const family = prefersIpv6 ? 6 : 4;
  const preferred = (ips: readonly string[]): string | undefined =>
    ips.find((ip) => parseIp(ip)?.family === family) ?? ips[0];
  const named = network.nameAddresses.filter((ip) => nodeIpProblem(ip, network.hostAddresses) === undefined);
  const found = preferred(named) ?? preferred(network.defaultAddresses);
  return found === undefined ? [] : [found];
}

function isUnspecifiedText(text: string): boolean {
  const ip = parseIp(text);
  return ip !== undefined && isUnspecified(ip);
}

function nodeIpProblem(text: string, hostAddresses: readonly string[]): string | undefined {
  const ip = parseIp(text);
  if (ip === undefined) return 'nodeIP must be a valid IP address';
  if (isLoopback(ip)) return "nodeIP can't be loopback address";
  if (isMulticast(ip)) return "nodeIP can't be a multicast address";
  if (isLinkLocal(ip)) return "nodeIP can't be a link-local unicast address";
  if (isUnspecified(ip)) return "nodeIP can't be an all zeros address";
  const isLocal = hostAddresses.some((each) => parseIp(each.replace(/%.*/, ''))?.text === ip.text);
  return isLocal ? undefined : `node IP: "${ip.text}" not found in the host's network interfaces`;
}
