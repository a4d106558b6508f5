// Judges the resolv.conf that pods get from the node. Pure. Upstream: pkg/kubelet/network/dns.
import type { DoctorSettings, ResolvConfFacts } from './facts.ts';
import { type Fact, type Finding, fail, judgeKnown, ok, warn } from './finding.ts';

/** The C library reads no more. */
const mostServers = 3;
/** systemd-resolved keeps the servers that it asks here. */
const resolvedConf = '/run/systemd/resolve/resolv.conf';

export function judgeResolvConf(
  fact: Fact<ResolvConfFacts>,
  { resolvConf: path }: Pick<DoctorSettings, 'resolvConf'>,
): Finding {
  if (path === '') return ok('not set: pods get no name servers of the node');
  const set = (file: string): string => `set resolvConf to a file with the name servers, such as ${file}`;
  return judgeKnown(fact, path, ({ isMissing, servers }) => {
    if (isMissing) return fail(`${path} does not exist, so pods do not start`, set('/etc/resolv.conf'));
    if (servers.length === 0) return warn(`${path} has no name server`, set(resolvedConf));
    const local = servers.filter((each) => each.startsWith('127.') || each === '::1');
    if (local.length > 0)
      return warn(
        `${path} has ${local.join(', ')}, which is the pod itself in a pod: pods with dnsPolicy Default resolve no names, and CoreDNS detects a loop`,
        set(resolvedConf),
      );
    return servers.length > mostServers
      ? warn(
          `${path} has ${servers.length} name servers, and pods use the first ${mostServers} of them`,
          `keep ${mostServers}`,
        )
      : ok(`${path}: ${servers.join(', ')}`);
  });
}
