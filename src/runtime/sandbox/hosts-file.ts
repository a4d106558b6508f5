// The hosts file that a pod's containers see. Pure. Upstream: ensureHostsFile and its kin in kubelet_pods.go.
// Invariant: the texts are upstream's to the byte; programs look for the header to know whose file it is.
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
const ownNames = [
  '127.0.0.1\tlocalhost',
  '::1\tlocalhost ip6-localhost ip6-loopback',
  'fe00::0\tip6-localnet',
  'fe00::0\tip6-mcastprefix',
  'fe00::1\tip6-allnodes',
  'fe00::2\tip6-allrouters',
];

/** Of a pod with a network of its own. */
export function podHostsFile({ aliases, domain, hostname, podIps }: HostsFileInput): string {
  const names = domain === '' ? hostname : `${hostname}.${domain}\t${hostname}`;
  const lines = [...ownNames, ...podIps.map((ip) => `${ip}\t${names}`)];
  return `${header}${lines.map((line) => `${line}\n`).join('')}${aliasLines(aliases)}`;
}

/** Of a pod on the node's network: the node's own file, and the pod's aliases. */
export function nodeHostsFile(nodeFile: string, aliases: readonly HostAlias[]): string {
  return `${hostNetworkHeader}${nodeFile}${aliasLines(aliases)}`;
}

function aliasLines(aliases: readonly HostAlias[]): string {
  if (aliases.length === 0) return '';
  const lines = aliases.map(({ hostnames = [], ip = '' }) => `${ip}\t${hostnames.join('\t')}\n`);
  return `\n# Entries added by HostAliases.\n${lines.join('')}`;
}
