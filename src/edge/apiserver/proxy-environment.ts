// The proxy for a server from HTTP_PROXY, HTTPS_PROXY and NO_PROXY. Pure. Upstream: golang.org/x/net/http/httpproxy.
import { BlockList, isIP } from 'node:net';

type Environment = Readonly<Record<string, string | undefined>>;

export function proxyFromEnvironment(server: URL, env: Environment): URL | undefined {
  const name = server.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const text = env[name] ?? env[name.toLowerCase()] ?? '';
  if (text === '') return undefined;
  const host = server.hostname.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  if (host === 'localhost' || isLoopback(host) || isExcluded(host, server.port, env)) return undefined;
  const full = text.includes('://') ? text : `http://${text}`;
  const url = URL.canParse(full) ? new URL(full) : undefined;
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? url : undefined;
}

function isLoopback(host: string): boolean {
  return host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

function isExcluded(host: string, port: string, env: Environment): boolean {
  const list = env['NO_PROXY'] ?? env['no_proxy'] ?? '';
  return list
    .split(',')
    .map((entry) => entry.trim().toLowerCase())
    .filter(Boolean)
    .some((entry) => matchesExclusion(entry, host, port));
}

function matchesExclusion(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true;
  if (entry.includes('/')) return isWithin(host, entry);
  if (isIP(entry) === 6) return entry === host;
  const [, name = entry, wantedPort] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? [];
  if (wantedPort !== undefined && wantedPort !== port) return false;
  const bare = name.replace(/^\*/, '');
  // `.example.com` matches subdomains only, `example.com` also the host itself.
  return bare.startsWith('.') ? host.endsWith(bare) : host === bare || host.endsWith(`.${bare}`);
}

function isWithin(host: string, cidr: string): boolean {
  const [network = '', bits = ''] = cidr.split('/');
  const family = isIP(network);
  if (family === 0 || isIP(host) !== family || !/^\d{1,3}$/.test(bits)) return false;
  const list = new BlockList();
  const type = family === 4 ? 'ipv4' : 'ipv6';
  if (Number(bits) > (family === 4 ? 32 : 128)) return false;
  list.addSubnet(network, Number(bits), type);
  return list.check(host, type);
}
