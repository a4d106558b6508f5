// Parses a resolv.conf. Pure. Upstream: parseResolvConf in pkg/kubelet/network/dns.
// Invariants: servers accumulate; the last search line wins; of an option given twice the later one wins.
import { KubeletError } from '../../base/errors.ts';

export interface ResolverSettings {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

export function parseResolvConf(text: string): ResolverSettings {
  const servers: string[] = [];
  let searches: readonly string[] = [];
  const options = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [keyword, ...values] = line.trim().split(/\s+/);
    const first = values[0];
    if (keyword === 'nameserver' && first === undefined) {
      throw new KubeletError('invalid', 'InvalidResolvConf', 'resolv.conf has an empty nameserver line');
    }
    if (keyword === 'nameserver' && first !== undefined) servers.push(first);
    // A trailing dot does not make another domain.
    if (keyword === 'search') {
      searches = values.filter((each) => each !== '.').map((each) => each.replace(/\.$/, ''));
    }
    if (keyword === 'options') for (const option of values) options.set(optionName(option), option);
  }
  return { servers, searches, options: [...options.values()] };
}

export function optionName(option: string): string {
  return option.split(':', 1)[0] ?? '';
}
