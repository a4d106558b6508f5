// The addresses in a pod's status. Pure. Upstream: sortPodIPs and generateAPIPodStatus in pkg/kubelet/kubelet_pods.go,
// getPodIPs in pkg/kubelet/pleg/generic.go.
import type { HostIP, PodIP, PodStatus } from '../k8s/types.ts';
import type { ObservedPod } from './observed.ts';

interface PodAddresses {
  readonly hostIP?: string;
  readonly hostIPs?: HostIP[];
  readonly podIP?: string;
  readonly podIPs?: PodIP[];
}

export function computePodAddresses(
  observed: ObservedPod | undefined,
  hostNetwork: boolean,
  hostIPs: readonly string[],
  before: PodStatus,
): PodAddresses {
  const nodeIPs = hostIPs.slice(0, 2);
  const own = preferred(seenIPs(observed, before), isIPv6(nodeIPs[0] ?? ''));
  const ips = hostNetwork ? withNodeIPs(own, nodeIPs) : own;
  const [hostIP] = nodeIPs;
  const [podIP] = ips;
  return {
    ...(hostIP === undefined ? {} : { hostIP, hostIPs: nodeIPs.map((ip) => ({ ip })) }),
    ...(podIP === undefined ? {} : { podIP, podIPs: ips.map((ip) => ({ ip })) }),
  };
}

/** The addresses of the current sandbox; a pod without a ready sandbox keeps its last ones. */
function seenIPs(observed: ObservedPod | undefined, before: PodStatus): readonly string[] {
  const sandboxes = observed?.sandboxes ?? [];
  const [newest] = sandboxes;
  if (newest?.ready === true && newest.ips.length > 0) return newest.ips;
  if (sandboxes.some((sandbox) => sandbox.ready)) return [];
  return (before.podIPs ?? []).map(({ ip }) => ip ?? '').filter((ip) => ip !== '');
}

/** At most one of each family, the node's own family first. */
function preferred(ips: readonly string[], ipv6First: boolean): string[] {
  const valid = ips.map(canonical).filter((ip) => ip !== undefined);
  const first = valid.find((ip) => isIPv6(ip) === ipv6First);
  const second = valid.find((ip) => isIPv6(ip) !== ipv6First);
  return [first, second].filter((ip) => ip !== undefined);
}

/** A pod with host network has the node's addresses. Once set they are kept; a second family may be added. */
function withNodeIPs(own: readonly string[], nodeIPs: readonly string[]): readonly string[] {
  const ips = own.length === 0 ? nodeIPs.slice(0, 1) : own;
  const [first] = ips;
  const [, second] = nodeIPs;
  if (ips.length !== 1 || first === undefined || second === undefined) return ips;
  return isIPv6(first) === isIPv6(second) ? ips : [first, second];
}

function isIPv6(ip: string): boolean {
  return ip.includes(':');
}

/** Normalizes a runtime's address to its canonical form; undefined if it is not an address. */
function canonical(ip: string): string | undefined {
  if (!isIPv6(ip)) {
    const parts = ip.split('.');
    const valid = parts.length === 4 && parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) <= 255);
    return valid ? parts.map(Number).join('.') : undefined;
  }
  try {
    return new URL(`http://[${ip}]/`).hostname.slice(1, -1);
  } catch {
    return undefined;
  }
}
