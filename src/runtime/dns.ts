// The resolver settings of a pod. Pure. Upstream: pkg/kubelet/network/dns.
import type { CriRequest } from '../api/cri.ts';
import type { DNSConfig } from '../api/generated/runtime/v1/api.ts';
import type { Pod } from '../api/k8s.ts';

export interface DnsSettings {
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
}

/**
 * Undefined leaves the node's own resolv.conf to the runtime: for the policy Default, for host network,
 * and where the node knows no cluster DNS.
 */
export function podDns(pod: Pod, settings: DnsSettings): CriRequest<DNSConfig> | undefined {
  const own = pod.spec?.dnsConfig;
  const servers = own?.nameservers ?? [];
  const searches = own?.searches ?? [];
  const options = (own?.options ?? []).map(({ name, value }) =>
    value === undefined || value === '' ? (name ?? '') : `${name}:${value}`,
  );
  const policy = pod.spec?.dnsPolicy ?? 'ClusterFirst';
  if (policy === 'None') return { servers, searches, options };
  const clusterFirst =
    policy === 'ClusterFirstWithHostNet' || (policy === 'ClusterFirst' && pod.spec?.hostNetwork !== true);
  if (!clusterFirst || settings.clusterDns.length === 0) return undefined;
  const domain = settings.clusterDomain;
  const namespace = pod.metadata?.namespace ?? '';
  const clusterSearches = domain === '' ? [] : [`${namespace}.svc.${domain}`, `svc.${domain}`, domain];
  return {
    servers: [...settings.clusterDns, ...servers],
    searches: [...new Set([...clusterSearches, ...searches])],
    options: [...(options.some((option) => option.startsWith('ndots:')) ? [] : ['ndots:5']), ...options],
  };
}
