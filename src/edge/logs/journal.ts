// Reads the logs of the node's services with journalctl. Upstream: pkg/kubelet/kubelet_server_journal_linux.go.
// Invariant: every call ends by its deadline, and when its client disconnects.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { promisify } from 'node:util';

const deadlineMs = 30_000;
const maxBytes = 16 * 1024 * 1024;
const program = 'journalctl';

export const journal = {
  units: async (signal: AbortSignal): Promise<string | undefined> => {
    try {
      const options = { signal, timeout: deadlineMs, maxBuffer: maxBytes };
      const { stdout } = await promisify(execFile)(program, ['--field', '_SYSTEMD_UNIT'], options);
      return stdout;
    } catch (err) {
      if (signal.aborted) throw err;
      // journalctl exists but has no journal: the service may still log to files.
      return (err as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : '';
    }
  },
  read: (args: readonly string[], signal: AbortSignal): AsyncIterable<Uint8Array> => output(args, signal),
};

async function* output(args: readonly string[], signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const child = spawn(program, args, {
    signal,
    timeout: deadlineMs,
    killSignal: 'SIGKILL',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const failed = failure(child);
  try {
    yield* child.stdout as AsyncIterable<Uint8Array>;
    yield* child.stderr as AsyncIterable<Uint8Array>;
    if (await failed) yield new TextEncoder().encode('\nerror: journal output not available\n');
  } finally {
    child.kill('SIGKILL');
  }
}

/** Whether it could not be executed at all; its own errors are part of its output. */
function failure(child: ChildProcess): Promise<boolean> {
  return new Promise((resolve) => {
    child.once('error', () => resolve(true));
    child.once('close', () => resolve(false));
  });
}
