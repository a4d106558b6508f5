// The resolver settings of a pod. Pure. Upstream: pkg/kubelet/network/dns.
// Invariant: what is sent fits what resolvers accept: three servers, 32 search domains, 2048 characters of them.

import type { DNSConfig } from '../../api/cri/generated/runtime/v1/api.ts';
import type { CriRequest } from '../../api/cri/runtime.ts';
import { parseIp } from '../../api/k8s/ip-address.ts';
import type { Pod } from '../../api/k8s/types.ts';
import { optionName, type ResolverSettings } from './resolv-conf.ts';

export interface DnsSettings {
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
  /** The resolver file that pods start from; none when it is empty or not given. */
  readonly resolvConf?: string;
  readonly nodeIps?: readonly string[];
}

const maxServers = 3;
const maxSearches = 32;
const maxSearchLength = 253;
const maxSearchLine = 2048;

/** `host`: what the resolver file says; undefined when there is none. */
export function podDns(pod: Pod, settings: DnsSettings, host?: ResolverSettings): CriRequest<DNSConfig> {
  const base = baseSettings(pod, settings, host);
  const own = pod.spec?.dnsConfig;
  const options = new Map(base.options.map((option) => [optionName(option), option]));
  for (const { name = '', value } of own?.options ?? []) {
    options.set(name, value === undefined || value === '' ? name : `${name}:${value}`);
  }
  return {
    servers: unique([...base.servers, ...(own?.nameservers ?? [])]).slice(0, maxServers),
    searches: fitting(unique([...base.searches, ...(own?.searches ?? [])])),
    options: [...options.values()],
  };
}

function baseSettings(pod: Pod, settings: DnsSettings, host: ResolverSettings | undefined): ResolverSettings {
  const policy = pod.spec?.dnsPolicy ?? 'ClusterFirst';
  if (policy === 'None') return { servers: [], searches: [], options: [] };
  const cluster =
    policy === 'ClusterFirstWithHostNet' || (policy === 'ClusterFirst' && pod.spec?.hostNetwork !== true);
  if (cluster && settings.clusterDns.length > 0) return clusterSettings(pod, settings, host);
  return host ?? ownMachine(settings.nodeIps ?? []);
}

/** The cluster's servers alone: they forward what they do not know. */
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

/** Without a resolver file look-ups go to the machine itself, so that the runtime does not put in its own. */
function ownMachine(nodeIps: readonly string[]): ResolverSettings {
  const servers = nodeIps.map((ip) => (parseIp(ip)?.family === 6 ? '::1' : '127.0.0.1'));
  return { servers: servers.length === 0 ? ['127.0.0.1'] : servers, searches: ['.'], options: [] };
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}

function fitting(searches: readonly string[]): string[] {
  const fits = searches.slice(0, maxSearches).filter((each) => each.length <= maxSearchLength);
  while (fits.join(' ').length > maxSearchLine) fits.pop();
  return fits;
}
