// The iptables of a host in memory: chains with their rules, per family. The tables outlive a kubelet.
// Invariant: as with the real programs, a rule needs its chain and the chain of its target.
import type { IpChain, IpFamily, IpRule, IpTables } from '../../src/api/ports/iptables.ts';
import { KubeletError } from '../../src/base/errors.ts';

const builtIn = [
  'mangle POSTROUTING',
  'nat POSTROUTING',
  'filter INPUT',
  'filter FORWARD',
  'filter OUTPUT',
] as const;

export class FakeIpTables implements IpTables {
  /** Rules by table and chain, such as `filter INPUT`. */
  readonly tables: Readonly<Record<IpFamily, Map<string, string[]>>> = {
    IPv4: emptyTables(),
    IPv6: emptyTables(),
  };
  /** Why the host has no iptables of a family. */
  readonly missing = new Map<IpFamily, string>();
  /** Operations, such as `IPv4 chain mangle KUBE-IPTABLES-HINT`. */
  readonly calls: string[] = [];
  /** Called before every operation; may reject, as a held lock does, or never resolve. */
  before: (call: string, signal: AbortSignal) => void | Promise<void> = () => undefined;

  async missingReason(family: IpFamily, signal: AbortSignal): Promise<string | undefined> {
    await this.#called(`${family} probe`, signal);
    return this.missing.get(family);
  }

  async hasChain(family: IpFamily, chain: IpChain, signal: AbortSignal): Promise<boolean> {
    await this.#called(`${family} has ${keyOf(chain)}`, signal);
    return this.tables[family].has(keyOf(chain));
  }

  async ensureChain(family: IpFamily, chain: IpChain, signal: AbortSignal): Promise<void> {
    await this.#called(`${family} chain ${keyOf(chain)}`, signal);
    if (!this.tables[family].has(keyOf(chain))) this.tables[family].set(keyOf(chain), []);
  }

  async ensureRule(family: IpFamily, rule: IpRule, signal: AbortSignal): Promise<void> {
    await this.#called(`${family} rule ${keyOf(rule)}`, signal);
    const rules = this.tables[family].get(keyOf(rule));
    const text = rule.spec.join(' ');
    const target = rule.spec.at(-1) ?? '';
    const hasTarget = target === 'DROP' || this.tables[family].has(`${rule.table} ${target}`);
    if (rules === undefined || !hasTarget)
      throw new KubeletError('internal', 'IPTablesFailed', `no chain for ${keyOf(rule)} ${text}`);
    if (rules.includes(text)) return;
    if (rule.position === 'first') rules.unshift(text);
    else rules.push(text);
  }

  /** Removes all rules and own chains of the tables, as a reload of firewalld does. */
  flush(family: IpFamily, ...tables: readonly IpChain['table'][]): void {
    for (const [key, rules] of this.tables[family]) {
      if (!tables.some((table) => key.startsWith(`${table} `))) continue;
      rules.length = 0;
      if (!builtIn.some((each) => each === key)) this.tables[family].delete(key);
    }
  }

  /** Chains other than the built-in ones, and rules, by chain. */
  content(family: IpFamily): Readonly<Record<string, readonly string[]>> {
    const entries = [...this.tables[family]].map(([key, rules]) => [key, [...rules]] as const);
    return Object.fromEntries(
      entries.filter(([key, rules]) => rules.length > 0 || !builtIn.some((each) => each === key)),
    );
  }

  async #called(call: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.calls.push(call);
    await this.before(call, signal);
  }
}

function keyOf({ table, chain }: IpChain): string {
  return `${table} ${chain}`;
}

function emptyTables(): Map<string, string[]> {
  return new Map(builtIn.map((key) => [key, []]));
}
