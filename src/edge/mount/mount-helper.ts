// Runs the machine's own mount commands, for file systems that need a helper and for servers that may never answer.
// Invariants: the call settles when its signal is aborted, also when the process cannot be killed because the kernel waits
// for the server; neither that process nor its pipe keeps ours from ending.
import { spawn } from 'node:child_process';
import { KubeletError } from '../../base/errors.ts';

const longestOutput = 2_000;

/** Resolves to what the command wrote; rejects with what it complained of, its exit code in the details. */
export function runCommand(command: string, args: readonly string[], signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    child.unref();
    let said = '';
    let wrote = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (wrote.length < longestOutput) wrote += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (said.length < longestOutput) said += text;
    });
    const letGo = (): void => {
      signal.removeEventListener('abort', onAbort);
      child.stdout.destroy();
      child.stderr.destroy();
    };
    const onAbort = (): void => {
      // Its group: mount(8) runs the helper of the file system as a child of its own.
      if (child.pid !== undefined) killGroup(child.pid);
      letGo();
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    child.once('error', (err) => {
      letGo();
      reject(new KubeletError('unavailable', 'NoMountHelper', `cannot run ${command}`, { cause: err }));
    });
    child.once('close', (code, killedBy) => {
      letGo();
      if (code === 0) resolve(wrote);
      else reject(commandFailed(command, code ?? killedBy, said));
    });
  });
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (err) {
    // It has ended meanwhile: the only thing that can be wrong with a process of our own.
    if (!(err instanceof Error && 'code' in err && err.code === 'ESRCH')) throw err;
  }
}

function commandFailed(command: string, how: number | string | null, said: string): KubeletError {
  const output = said.trim().slice(0, longestOutput);
  const message = `${command} ended with ${how}: ${output}`;
  return new KubeletError('unavailable', 'MountFailed', message, { details: { code: how } });
}
