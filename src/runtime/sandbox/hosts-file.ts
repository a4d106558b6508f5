// The /etc/hosts of a pod's containers. Pure. Upstream: ensureHostsFile and the functions around it in kubelet_pods.go.
// Invariant: the text equals upstream's byte for byte; programs recognise a managed file by its header.
import type { HostAlias } from '../../api/k8s/types.ts';

interface HostsFileInput {
  readonly podIps: readonly string[];
  readonly hostname: string;
  /** Empty without a subdomain. */
  readonly domain: string;
  readonly aliases: readonly HostAlias[];
}

const header = '# Kubernetes-managed hosts file.\n';
const hostNetworkHeader = '# Kubernetes-managed hosts file (host network).\n';
const localNames = [
  '127.0.0.1\tlocalhost',
  '::1\tlocalhost ip6-localhost ip6-loopback',
  'fe00::0\tip6-localnet',
  'fe00::0\tip6-mcastprefix',
  'fe00::1\tip6-allnodes',
  'fe00::2\tip6-allrouters',
];

/** For a pod with its own network namespace. */
export function podHostsFile({ aliases, domain, hostname, podIps }: HostsFileInput): string {
  const names = domain === '' ? hostname : `${hostname}.${domain}\t${hostname}`;
  const lines = [...localNames, ...podIps.map((ip) => `${ip}\t${names}`)];
  return `${header}${lines.map((line) => `${line}\n`).join('')}${aliasLines(aliases)}`;
}

/** For a pod with hostNetwork: the node's file and the pod's aliases. */
export function nodeHostsFile(nodeFile: string, aliases: readonly HostAlias[]): string {
  return `${hostNetworkHeader}${nodeFile}${aliasLines(aliases)}`;
}

function aliasLines(aliases: readonly HostAlias[]): string {
  if (aliases.length === 0) return '';
  const lines = aliases.map(({ hostnames = [], ip }) => `${ip}\t${hostnames.join('\t')}\n`);
  return `\n# Entries added by HostAliases.\n${lines.join('')}`;
}
