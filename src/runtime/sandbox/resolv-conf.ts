// Reads a resolver file. Pure. Upstream: parseResolvConf in pkg/kubelet/network/dns.
// Invariants: servers add up, of several search lines the last one counts, of an option given twice the later one.
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
      throw new KubeletError(
        'invalid',
        'InvalidResolvConf',
        'a nameserver line of the resolver file is empty',
      );
    }
    if (keyword === 'nameserver' && first !== undefined) servers.push(first);
    // The same domain with and without a dot at its end is one.
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
