// Reads and adds chains and rules with the host's iptables and ip6tables. Upstream: pkg/util/iptables/iptables.go.
// Invariants: only exit codes that the operation defines count as an answer; every program waits for the lock at most lockWaitSeconds
// and is killed at its deadline.
import type { HostPrograms, ProgramResult } from '../../api/ports/host-programs.ts';
import type { IpChain, IpFamily, IpRule, IpTables } from '../../api/ports/iptables.ts';
import { describeError, isKind, KubeletError } from '../../base/errors.ts';

const programNames: Readonly<Record<IpFamily, string>> = { IPv4: 'iptables', IPv6: 'ip6tables' };
const lockWaitSeconds = 5;
/** Longer than the wait for the lock. */
const timeoutMs = 10_000;
/** Chains of the kubelet are short; POSTROUTING may be long, and only the exit code matters. */
const outputBytes = 4096;

/** Of iptables: the chain exists already (-N), or the chain (-S) or rule (-C) does not exist. */
const opposite = 1;
/** Of iptables-legacy while another program holds the lock; iptables-nft has no lock and uses it for errors of the kernel. */
const resourceProblem = 4;
const lockMessage = 'xtables lock';

export class IpTablesPrograms implements IpTables {
  readonly #programs: Pick<HostPrograms, 'run'>;

  constructor(programs: Pick<HostPrograms, 'run'>) {
    this.#programs = programs;
  }

  async missingReason(family: IpFamily, signal: AbortSignal): Promise<string | undefined> {
    const list = ['-S', 'POSTROUTING', '-t', 'nat'];
    try {
      const result = await this.#run(family, list, signal);
      if (result.code === 0) return undefined;
      const failure = failureOf(family, list, result);
      if (isLocked(result)) throw failure;
      return failure.message;
    } catch (err) {
      if (isKind(err, 'not-found') || isKind(err, 'forbidden')) return describeError(err);
      throw err;
    }
  }

  async hasChain(family: IpFamily, { table, chain }: IpChain, signal: AbortSignal): Promise<boolean> {
    return await this.#ask(family, ['-S', chain, '-t', table], signal);
  }

  async ensureChain(family: IpFamily, { table, chain }: IpChain, signal: AbortSignal): Promise<void> {
    await this.#ask(family, ['-N', chain, '-t', table], signal);
  }

  async ensureRule(family: IpFamily, rule: IpRule, signal: AbortSignal): Promise<void> {
    const { table, chain, position, spec } = rule;
    const args = [chain, '-t', table, ...spec];
    if (await this.#ask(family, ['-C', ...args], signal)) return;
    const add = [position === 'first' ? '-I' : '-A', ...args];
    const result = await this.#run(family, add, signal);
    if (result.code !== 0) throw failureOf(family, add, result);
  }

  /** True for exit code 0, false for 1. */
  async #ask(family: IpFamily, args: readonly string[], signal: AbortSignal): Promise<boolean> {
    const result = await this.#run(family, args, signal);
    if (result.code === 0) return true;
    if (result.code === opposite) return false;
    throw failureOf(family, args, result);
  }

  #run(family: IpFamily, args: readonly string[], signal: AbortSignal): Promise<ProgramResult> {
    const program = programNames[family];
    const wait = ['-w', String(lockWaitSeconds)];
    return this.#programs.run({ program, args: [...wait, ...args], timeoutMs, outputBytes }, signal);
  }
}

function isLocked({ code, stderr }: ProgramResult): boolean {
  return code === resourceProblem && stderr.includes(lockMessage);
}

function failureOf(family: IpFamily, args: readonly string[], result: ProgramResult): KubeletError {
  const { code, stderr } = result;
  const ended = code === undefined ? 'was killed by a signal' : `failed with exit code ${code}`;
  const command = [programNames[family], ...args].join(' ');
  const message = `${command} ${ended}: ${stderr.trim()}`;
  if (code === resourceProblem) return new KubeletError('unavailable', 'ResourceProblem', message);
  return new KubeletError('internal', 'IPTablesFailed', message);
}
