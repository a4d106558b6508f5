// Resolves host names that come from pods (probes, lifecycle hooks) without getaddrinfo: that runs on Node's thread pool, and
// four names with an unresponsive DNS server would block every file operation of the kubelet. Upstream: Go's own resolver, which
// also reads the hosts file and resolv.conf and queries the servers itself.
// Invariants: no lookup occupies the thread pool while it waits for a server; each ends by its deadline; concurrent lookups of a
// name are shared, and the number of names in flight is bounded.
import { promises as dns, type LookupAddress, type LookupOptions } from 'node:dns';
import { open } from 'node:fs/promises';
import { isIP } from 'node:net';
import { callbackify } from 'node:util';
import { type ResolvConf, readHosts, readResolvConf, resolveCandidates } from '../machine/resolv-conf.ts';

type LookupCallback = (
  err: NodeJS.ErrnoException | null,
  address: string | LookupAddress[],
  family?: number,
) => void;

/** The type of the option `lookup` of net.connect(). */
export type Lookup = (name: string, options: LookupOptions, callback: LookupCallback) => void;

interface PodLookupOptions {
  readonly hostsFile?: string;
  readonly resolvConfFile?: string;
  /** Instead of the machine's configured servers. */
  readonly servers?: readonly string[];
  readonly deadlineMs?: number;
}

const maxNames = 256;
/** A name may have thousands of addresses; each would be tried in turn. */
const maxAddresses = 16;
const fileLimitBytes = 256 * 1024;

export function makePodLookup(options: PodLookupOptions = {}): Lookup {
  const resolver = new PodResolver(options);
  const resolve = callbackify((name: string) => resolver.resolve(name));
  return (name, { all, family }, callback) =>
    resolve(name, (err, found) => {
      if (err !== null) {
        callback(err, []);
        return;
      }
      const wanted = found.filter((each) => !isFamily(family) || each.family === familyNumber(family));
      const [first] = wanted;
      if (first === undefined) callback(lookupError('ENOTFOUND', name), []);
      else if (all === true) callback(null, wanted);
      else callback(null, first.address, first.family);
    });
}

function familyNumber(family: LookupOptions['family']): number {
  return family === 'IPv4' ? 4 : family === 'IPv6' ? 6 : (family ?? 0);
}

function isFamily(family: LookupOptions['family']): boolean {
  return familyNumber(family) !== 0;
}

class PodResolver {
  readonly #options: PodLookupOptions;
  readonly #inFlight = new Map<string, Promise<LookupAddress[]>>();

  constructor(options: PodLookupOptions) {
    this.#options = options;
  }

  async resolve(name: string): Promise<LookupAddress[]> {
    const shared = this.#inFlight.get(name);
    if (shared !== undefined) return await shared;
    if (this.#inFlight.size >= maxNames) throw lookupError('EAI_AGAIN', name);
    const work = this.#resolveNow(name).finally(() => this.#inFlight.delete(name));
    this.#inFlight.set(name, work);
    return await work;
  }

  async #resolveNow(name: string): Promise<LookupAddress[]> {
    const { hostsFile = '/etc/hosts', resolvConfFile = '/etc/resolv.conf' } = this.#options;
    const listed = readHosts(await readStart(hostsFile), name);
    if (listed.length > 0) return listed.map(toAddress);
    return await this.#query(name, readResolvConf(await readStart(resolvConfFile)));
  }

  async #query(name: string, conf: ResolvConf): Promise<LookupAddress[]> {
    const resolver = new dns.Resolver({ timeout: conf.timeoutMs, tries: conf.attempts });
    if (this.#options.servers !== undefined) resolver.setServers(this.#options.servers);
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      resolver.cancel();
    }, this.#options.deadlineMs ?? 20_000);
    timer.unref();
    let code: 'ENOTFOUND' | 'EAI_AGAIN' = 'ENOTFOUND';
    try {
      for (const candidate of resolveCandidates(name, conf)) {
        const answers = await Promise.allSettled([
          resolver.resolve4(candidate),
          resolver.resolve6(candidate),
        ]);
        const found = answers.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
        if (found.length > 0) return found.slice(0, maxAddresses).map(toAddress);
        if (isLate) break;
        if (answers.some((each) => each.status === 'rejected' && !isMissing(each.reason))) code = 'EAI_AGAIN';
      }
    } finally {
      clearTimeout(timer);
    }
    throw lookupError(isLate ? 'EAI_AGAIN' : code, name);
  }
}

function toAddress(address: string): LookupAddress {
  return { address, family: isIP(address) };
}

/** The name does not exist, has no address of this family, or is invalid. */
function isMissing(err: unknown): boolean {
  const code = err instanceof Error && 'code' in err ? err.code : undefined;
  return code === 'ENOTFOUND' || code === 'ENODATA' || code === 'EBADNAME';
}

function lookupError(code: 'ENOTFOUND' | 'EAI_AGAIN', hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`lookup ${code} ${hostname}`), { code, syscall: 'lookup', hostname });
}

/** An unreadable file counts as empty, as for the C library and Go. */
async function readStart(path: string): Promise<string> {
  const file = await open(path).catch(() => undefined);
  if (file === undefined) return '';
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(fileLimitBytes), 0, fileLimitBytes, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } catch {
    return '';
  } finally {
    await file.close();
  }
}

export const podLookup: Lookup = makePodLookup();
