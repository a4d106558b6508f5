// Runs the node's mount commands, for file systems that need a helper and for servers that may not respond.
// Invariants: the call settles when its signal is aborted, even if the process cannot be killed because the kernel waits for
// the server; neither that process nor its pipes keep the kubelet from exiting.
import { spawn } from 'node:child_process';
import { KubeletError } from '../../base/errors.ts';

const maxOutputChars = 2_000;

/** Resolves to the command's stdout. Rejects with its stderr, and its exit code in the details. */
export function runCommand(command: string, args: readonly string[], signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    const cannotRun = (err: Error): void =>
      reject(new KubeletError('unavailable', 'NoMountHelper', `cannot run ${command}`, { cause: err }));
    // Without free file descriptors it does not even have pipes.
    if (child.pid === undefined) {
      child.once('error', cannotRun);
      return;
    }
    child.unref();
    let stderr = '';
    let stdout = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (stdout.length < maxOutputChars) stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (stderr.length < maxOutputChars) stderr += text;
    });
    const release = (): void => {
      signal.removeEventListener('abort', onAbort);
      child.stdout.destroy();
      child.stderr.destroy();
    };
    const onAbort = (): void => {
      // The whole process group: mount(8) runs the helper of the file system as a child.
      if (child.pid !== undefined) killGroup(child.pid);
      release();
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    child.once('error', (err) => {
      release();
      cannotRun(err);
    });
    child.once('close', (code, killedBy) => {
      release();
      if (code === 0) resolve(stdout);
      else reject(commandFailed(command, code ?? killedBy, stderr));
    });
  });
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (err) {
    // The process has exited in the meantime, the only failure possible for a child of this process.
    if (!(err instanceof Error && 'code' in err && err.code === 'ESRCH')) throw err;
  }
}

function commandFailed(command: string, status: number | string | null, stderr: string): KubeletError {
  const output = stderr.trim().slice(0, maxOutputChars);
  const message = `${command} exited with ${status}: ${output}`;
  return new KubeletError('unavailable', 'MountFailed', message, { details: { code: status } });
}
