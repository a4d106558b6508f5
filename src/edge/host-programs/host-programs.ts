// Runs programs of the host for volumes. Upstream: k8s.io/utils/exec.
// Invariants: a program and its children are killed at the deadline and on abort, and the call settles then even if the kernel
// keeps the process; output is bounded; errors name the program only, never its arguments.
import { type ChildProcess, spawn } from 'node:child_process';
import { access, constants, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import type { HostPrograms, ProgramResult, ProgramRun } from '../../api/ports/host-programs.ts';
import { KubeletError } from '../../base/errors.ts';
import { hostError } from '../syscalls/syscalls-errors.ts';
import { BoundedText } from './bounded-text.ts';

const defaultOutputBytes = 64 * 1024;
/** How long output may follow the exit of a program whose child, such as a daemon it started, keeps the pipes open. */
const drainMs = 250;
/** Directories of administrators' programs, which the PATH of a service may lack. */
const adminDirectories = ['/usr/local/sbin', '/usr/sbin', '/sbin', '/usr/local/bin', '/usr/bin', '/bin'];

export class NodePrograms implements HostPrograms {
  readonly #directories: readonly string[];

  /** `path`: as the variable PATH. */
  constructor(path: string = process.env['PATH'] ?? '') {
    const own = path.split(':').filter((directory) => directory.startsWith('/'));
    this.#directories = [...new Set([...own, ...adminDirectories])];
  }

  async find(program: string): Promise<string | undefined> {
    for (const directory of this.#directories) {
      const path = `${directory}/${program}`;
      if (await isExecutable(path)) return path;
    }
    return undefined;
  }

  async run(run: ProgramRun, signal: AbortSignal): Promise<ProgramResult> {
    signal.throwIfAborted();
    const { program } = run;
    const path = program.includes('/') ? program : await this.find(program);
    if (path === undefined) throw notFound(program);
    signal.throwIfAborted();
    return await runProgram(path, run, signal);
  }
}

function runProgram(path: string, run: ProgramRun, signal: AbortSignal): Promise<ProgramResult> {
  const { args, program, timeoutMs, sensitive = [], outputBytes = defaultOutputBytes } = run;
  return new Promise((resolve, reject) => {
    const child = spawn(path, args, { cwd: '/', stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    // Without free file descriptors it does not even have pipes.
    if (child.pid === undefined) {
      child.once('error', (err) => reject(startFailure(program, err)));
      return;
    }
    // Neither a process that the kernel cannot kill nor its pipes keep the kubelet from exiting.
    child.unref();
    const stdout = new BoundedText(child.stdout, outputBytes);
    const stderr = new BoundedText(child.stderr, outputBytes);
    let draining: NodeJS.Timeout | undefined;
    const settle = (): void => {
      clearTimeout(deadline);
      clearTimeout(draining);
      signal.removeEventListener('abort', onAbort);
      child.removeAllListeners();
      child.on('error', () => undefined);
      stdout.close();
      stderr.close();
    };
    const end = (err: unknown): void => {
      settle();
      reject(err instanceof Error ? err : new Error(String(err)));
    };
    const giveUp = (reason: unknown): void => {
      killGroup(child);
      end(reason);
    };
    const onAbort = (): void => giveUp(signal.reason);
    const deadline = setTimeout(() => giveUp(timedOut(program, timeoutMs)), timeoutMs);
    signal.addEventListener('abort', onAbort, { once: true });
    const done = (code: number | null): void => {
      settle();
      resolve({ code: code ?? undefined, stdout: stdout.text(), stderr: stderr.masked(sensitive) });
    };
    child.once('error', (err) => end(startFailure(program, err)));
    child.once('close', done);
    child.once('exit', (code) => {
      draining = setTimeout(() => done(code), drainMs);
    });
  });
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The group has already exited.
  }
}

function notFound(program: string): KubeletError {
  return new KubeletError('not-found', 'ProgramNotFound', `${basename(program)} not found on the node`);
}

function timedOut(program: string, timeoutMs: number): KubeletError {
  const message = `${basename(program)} did not exit within ${timeoutMs} ms`;
  return new KubeletError('timeout', 'ProgramTimeout', message);
}

/** Without the error of node:child_process, which holds the arguments. */
function startFailure(program: string, err: Error): KubeletError {
  const { kind, reason } = hostError(err, '');
  if (kind === 'not-found') return notFound(program);
  return new KubeletError(kind, reason, `cannot run ${basename(program)}: ${reason}`);
}
