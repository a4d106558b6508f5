// Chains and rules of the host's iptables. Types only; edge/iptables implements them. Upstream: pkg/util/iptables.
// Invariants of an implementation: every call has a deadline; a lock that another program holds for longer is `unavailable`, never
// "absent"; nothing is removed.

export type IpFamily = 'IPv4' | 'IPv6';

export interface IpChain {
  readonly table: 'mangle' | 'nat' | 'filter';
  readonly chain: string;
}

export interface IpRule extends IpChain {
  readonly position: 'first' | 'last';
  /** Arguments of iptables: matches and target. */
  readonly spec: readonly string[];
}

export interface IpTables {
  /** Why this host has no iptables of the family; undefined if it has. Rejects if that is not known yet, so it can be tried again. */
  missingReason(family: IpFamily, signal: AbortSignal): Promise<string | undefined>;
  hasChain(family: IpFamily, chain: IpChain, signal: AbortSignal): Promise<boolean>;
  /** Leaves an existing chain as it is. */
  ensureChain(family: IpFamily, chain: IpChain, signal: AbortSignal): Promise<void>;
  /** Leaves an existing rule where it is. The chain, and that of the target, must exist. */
  ensureRule(family: IpFamily, rule: IpRule, signal: AbortSignal): Promise<void>;
}
