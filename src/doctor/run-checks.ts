// Gathers the facts and judges them. Invariants: each fact is gathered once, all of them concurrently, each with a deadline; a fact
// that fails or is late is not known, and its checks still have a finding.
import { withDeadline } from '../base/abort/deadline.ts';
import type { Clock } from '../base/clock.ts';
import { describeError } from '../base/errors.ts';
import type { Check, Context, Facts } from './checks.ts';
import type { HostFacts } from './facts.ts';
import type { Fact, Finding } from './finding.ts';

export type DoctorHost = { readonly [K in keyof HostFacts]: (signal: AbortSignal) => Promise<HostFacts[K]> };

export interface CheckResult extends Finding {
  readonly name: string;
}

interface RunDeps {
  readonly checks: readonly Check[];
  readonly context: Context;
  readonly host: DoctorHost;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Of each fact. */
  readonly deadlineMs: number;
}

export async function runChecks(deps: RunDeps): Promise<readonly CheckResult[]> {
  const needed = [...new Set(deps.checks.flatMap(({ reads }) => reads))];
  const gathered = await Promise.all(needed.map(async (key) => [key, await gather(deps, key)] as const));
  const facts = Object.fromEntries(gathered) as unknown as Facts;
  return deps.checks.map(({ judge, name }) => ({ name, ...judge(facts, deps.context) }));
}

async function gather(deps: RunDeps, key: keyof HostFacts): Promise<Fact<unknown>> {
  const { clock, deadlineMs, host, signal } = deps;
  try {
    const value = await withDeadline<unknown>({ clock, ms: deadlineMs, signal, what: 'the check' }, (own) =>
      host[key](own),
    );
    return { isKnown: true, value };
  } catch (err) {
    signal.throwIfAborted();
    return { isKnown: false, why: describeError(err) };
  }
}
