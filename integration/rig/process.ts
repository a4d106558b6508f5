// Processes in /proc. A process is identified by its PID and start time, so that a reused PID is never mistaken for it.
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

export interface ProcessId {
  readonly pid: number;
  readonly startTicks: string;
}

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** The fields of /proc/PID/stat after the command name, which may itself contain spaces and parentheses. */
export function statFields(pid: number): readonly string[] {
  const stat = read(`/proc/${pid}/stat`);
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** Undefined if there is no such process, or only a zombie. */
export function identify(pid: number): ProcessId | undefined {
  const [state, ...rest] = statFields(pid);
  const startTicks = rest[18];
  if (startTicks === undefined || state === 'Z' || state === 'X') return undefined;
  return { pid, startTicks };
}

export function isAlive(id: ProcessId): boolean {
  return identify(id.pid)?.startTicks === id.startTicks;
}

export function commandLine(pid: number): readonly string[] {
  return read(`/proc/${pid}/cmdline`).split('\0').slice(0, -1);
}

export function environment(pid: number): readonly string[] {
  return read(`/proc/${pid}/environ`).split('\0').slice(0, -1);
}

export function cgroupsOf(pid: number): string {
  return read(`/proc/${pid}/cgroup`);
}

export function listProcesses(): readonly ProcessId[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => identify(Number(name)))
    .filter((id) => id !== undefined);
}

/** Sends the signal only to this very process; false if it is gone. */
export function signalProcess(id: ProcessId, signal: NodeJS.Signals): boolean {
  if (!isAlive(id)) return false;
  try {
    return process.kill(id.pid, signal);
  } catch {
    return false;
  }
}

/** Runs a program to its end. Resolves with any exit code. */
export function run(program: string, args: readonly string[], timeoutMs = 60_000): Promise<Outcome> {
  return new Promise((resolve) => {
    const options = { timeout: timeoutMs, killSignal: 'SIGKILL', maxBuffer: 64 * 1024 * 1024 } as const;
    execFile(program, [...args], options, (err, stdout, stderr) => {
      const code = err === null ? 0 : typeof err.code === 'number' ? err.code : 1;
      resolve({ code, stdout, stderr: stderr === '' && err !== null ? err.message : stderr });
    });
  });
}

/** Runs a program that must succeed. Returns its output. */
export async function mustRun(program: string, args: readonly string[], timeoutMs?: number): Promise<string> {
  const { code, stdout, stderr } = await run(program, args, timeoutMs);
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} failed (${code}): ${stderr.trim()}`);
  return stdout;
}
