// A network namespace with iptables of its own. Nothing in it reaches the host, and it ends with this process.
// Invariant: legacy programs get a lock file of their own, which they would otherwise share with the host.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { HostPrograms, ProgramResult, ProgramRun } from '../../src/api/ports/host-programs.ts';
import { NodePrograms } from '../../src/edge/host-programs/host-programs.ts';
import { findProgram } from '../rig/prerequisites.ts';
import { mustRun, run } from '../rig/process.ts';

/** The kernel kills such a process when this process ends. */
const leash = ['--pdeathsig', 'KILL'];

export type Variant = 'nft' | 'legacy';

/** Why this machine cannot run a variant of iptables in a network namespace; undefined if it can. */
export async function iptablesUnavailableReason(variant: Variant): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'network namespaces need root';
  for (const family of ['iptables', 'ip6tables']) {
    const program = `${family}-${variant}`;
    if (findProgram(program) === undefined) return `${program} not found`;
    for (const table of ['mangle', 'nat', 'filter']) {
      const { code, stderr } = await run('unshare', ['--net', program, '-t', table, '-S']);
      if (code !== 0) return `${program} does not work on this kernel: ${stderr.trim().split('\n')[0]}`;
    }
  }
  return undefined;
}

/** `lockWaitSeconds` replaces the longer wait of the edge, so that a test does not wait for it. */
export class PrivateNetwork implements Pick<HostPrograms, 'run'> {
  readonly #variant: Variant;
  readonly #lockWaitSeconds: number;
  readonly #programs = new NodePrograms();
  readonly #dir = mkdtempSync(join(tmpdir(), 'private-network-'));
  readonly #children: ChildProcess[] = [];
  #pid = 0;

  constructor(variant: Variant, lockWaitSeconds = 1) {
    this.#variant = variant;
    this.#lockWaitSeconds = lockWaitSeconds;
  }

  async start(): Promise<void> {
    const holder = await this.#spawn(['unshare', '--net', 'sh', '-c', 'echo ready; exec cat']);
    this.#pid = holder.pid ?? 0;
  }

  async stop(): Promise<void> {
    for (const child of this.#children.splice(0).toReversed()) await end(child);
    rmSync(this.#dir, { recursive: true });
  }

  /** Runs iptables, ip6tables or one of their companions, such as iptables-save, on the network. */
  async run(wanted: ProgramRun, signal: AbortSignal): Promise<ProgramResult> {
    const args = wanted.args.map((arg, i) =>
      wanted.args[i - 1] === '-w' ? String(this.#lockWaitSeconds) : arg,
    );
    const [program = '', ...rest] = [...this.#command(wanted.program), ...args];
    return await this.#programs.run({ ...wanted, program, args: rest }, signal);
  }

  /** As run(), with input if it is given. The program must succeed. */
  async mustRun(program: string, args: readonly string[], input?: string): Promise<string> {
    const [first = '', ...rest] = [...this.#command(program), ...args];
    if (input === undefined) return await mustRun(first, rest);
    return await mustRun('sh', ['-c', 'printf %s "$0" | "$@"', input, first, ...rest]);
  }

  /** Chains and rules of a table, without built-in chains, counters and comments. */
  async saved(family: 'iptables' | 'ip6tables', table: string): Promise<readonly string[]> {
    const text = await this.mustRun(`${family}-save`, ['-t', table]);
    return text
      .split('\n')
      .filter((line) => line.startsWith('-A ') || /^:\S+ - /.test(line))
      .map((line) => line.replace(/ - \[\d+:\d+\]$/, ''));
  }

  /** Takes the lock of iptables-legacy. Resolves with the function that releases it. */
  async holdLock(): Promise<() => Promise<void>> {
    const child = await this.#spawn(['flock', this.#lockFile, 'sh', '-c', 'echo ready; exec cat']);
    return async () => await end(child);
  }

  get #lockFile(): string {
    return join(this.#dir, 'xtables.lock');
  }

  #command(program: string): readonly string[] {
    const named = program.replace(/^(ip6?tables)/, `$1-${this.#variant}`);
    return [
      'nsenter',
      `--net=/proc/${this.#pid}/ns/net`,
      '--',
      'env',
      `XTABLES_LOCKFILE=${this.#lockFile}`,
      named,
    ];
  }

  async #spawn(command: readonly string[]): Promise<ChildProcess> {
    const child = spawn('setpriv', [...leash, ...command], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#children.push(child);
    const [first] = (await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])) as unknown[];
    if (String(first).trim() !== 'ready') throw new Error(`failed to start ${command.join(' ')}: ${first}`);
    return child;
  }
}

/** Closes the input of a child, on which it waits. */
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.stdin?.end();
  await ended;
}
