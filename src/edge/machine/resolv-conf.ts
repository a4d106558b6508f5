// Parses /etc/hosts and /etc/resolv.conf. Pure. Upstream: Go's net package (hosts.go, dnsconfig_unix.go).
import { isIP } from 'node:net';

export interface ResolvConf {
  readonly search: readonly string[];
  readonly ndots: number;
  readonly timeoutMs: number;
  readonly attempts: number;
}

/** The addresses of the name in the hosts file, at most 16. */
export function readHosts(text: string, name: string): string[] {
  const canonicalName = canonical(name);
  const found: string[] = [];
  for (const line of text.split('\n')) {
    const [address = '', ...names] = words(line.split('#', 1)[0] ?? '');
    if (isIP(address) === 0 || !names.some((each) => canonical(each) === canonicalName)) continue;
    found.push(address);
    if (found.length === 16) break;
  }
  return found;
}

function canonical(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}

function words(line: string): string[] {
  return line.split(/[ \t\r]/).filter((word) => word !== '');
}

export function readResolvConf(text: string): ResolvConf {
  const conf = { search: [] as string[], ndots: 1, timeoutMs: 5_000, attempts: 2 };
  for (const line of text.split('\n')) {
    const [keyword, ...rest] = words(line);
    if (keyword === 'search' || keyword === 'domain') conf.search = rest.slice(0, 32);
    if (keyword !== 'options') continue;
    for (const option of rest) {
      const [name, value = ''] = option.split(':', 2);
      const number = /^\d{1,4}$/.test(value) ? Number(value) : undefined;
      if (number === undefined) continue;
      if (name === 'ndots') conf.ndots = Math.min(number, 15);
      if (name === 'timeout') conf.timeoutMs = Math.min(Math.max(number, 1), 30) * 1_000;
      if (name === 'attempts') conf.attempts = Math.min(Math.max(number, 1), 5);
    }
  }
  return conf;
}

/** The names to query, in this order. */
export function resolveCandidates(name: string, { ndots, search }: ResolvConf): string[] {
  if (name.endsWith('.')) return [name.slice(0, -1)];
  const dots = name.split('.').length - 1;
  const searched = search.map((suffix) => `${name}.${suffix.replace(/\.$/, '')}`);
  return dots >= ndots ? [name, ...searched] : [...searched, name];
}
