// The DNS configuration of a pod. Pure. Upstream: pkg/kubelet/network/dns.
// Invariant: the limits of resolvers are kept: three servers, 32 search domains, 2048 characters of search domains.

import type { DNSConfig } from '../../api/cri/generated/runtime/v1/api.ts';
import type { CriRequest } from '../../api/cri/runtime.ts';
import { parseIp } from '../../api/k8s/ip-address.ts';
import type { Pod } from '../../api/k8s/types.ts';
import { optionName, type ResolverSettings } from './resolv-conf.ts';

export interface DnsSettings {
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
  /** The path of the node's resolv.conf that pods inherit; empty or undefined: none. */
  readonly resolvConf?: string;
  readonly nodeIps?: readonly string[];
}

const maxServers = 3;
const maxSearches = 32;
const maxSearchLength = 253;
const maxSearchLine = 2048;

/** `host`: the content of the node's resolv.conf; undefined when none is configured. */
export function podDns(pod: Pod, settings: DnsSettings, host?: ResolverSettings): CriRequest<DNSConfig> {
  const base = baseSettings(pod, settings, host);
  const own = pod.spec?.dnsConfig;
  const options = new Map(base.options.map((option) => [optionName(option), option]));
  for (const { name = '', value } of own?.options ?? []) {
    options.set(name, value === undefined || value === '' ? name : `${name}:${value}`);
  }
  return {
    servers: unique([...base.servers, ...(own?.nameservers ?? [])]).slice(0, maxServers),
    searches: withinLimits(unique([...base.searches, ...(own?.searches ?? [])])),
    options: [...options.values()],
  };
}

function baseSettings(pod: Pod, settings: DnsSettings, host: ResolverSettings | undefined): ResolverSettings {
  const policy = pod.spec?.dnsPolicy ?? 'ClusterFirst';
  if (policy === 'None') return { servers: [], searches: [], options: [] };
  const cluster =
    policy === 'ClusterFirstWithHostNet' || (policy === 'ClusterFirst' && pod.spec?.hostNetwork !== true);
  if (cluster && settings.clusterDns.length > 0) return clusterSettings(pod, settings, host);
  return host ?? localhostSettings(settings.nodeIps ?? []);
}

/** Only the cluster's DNS servers: they forward other names. */
function clusterSettings(
  pod: Pod,
  { clusterDns, clusterDomain }: DnsSettings,
  host: ResolverSettings | undefined,
): ResolverSettings {
  const namespace = pod.metadata?.namespace ?? '';
  const searches =
    clusterDomain === '' ? [] : [`${namespace}.svc.${clusterDomain}`, `svc.${clusterDomain}`, clusterDomain];
  return { servers: clusterDns, searches: [...searches, ...(host?.searches ?? [])], options: ['ndots:5'] };
}

/** Without a resolv.conf, DNS queries go to localhost, so that the runtime does not add its own resolv.conf. */
function localhostSettings(nodeIps: readonly string[]): ResolverSettings {
  const servers = nodeIps.map((ip) => (parseIp(ip)?.family === 6 ? '::1' : '127.0.0.1'));
  return { servers: servers.length === 0 ? ['127.0.0.1'] : servers, searches: ['.'], options: [] };
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}

function withinLimits(searches: readonly string[]): string[] {
  const fits = searches.slice(0, maxSearches).filter((each) => each.length <= maxSearchLength);
  while (fits.join(' ').length > maxSearchLine) fits.pop();
  return fits;
}
