// The logs of the node's services by journalctl. Upstream: pkg/kubelet/kubelet_server_journal_linux.go.
// Invariant: every call ends by its deadline, and with its client.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { promisify } from 'node:util';

const deadlineMs = 30_000;
const mostBytes = 16 * 1024 * 1024;
const program = 'journalctl';

export const journal = {
  units: async (signal: AbortSignal): Promise<string | undefined> => {
    try {
      const options = { signal, timeout: deadlineMs, maxBuffer: mostBytes };
      const { stdout } = await promisify(execFile)(program, ['--field', '_SYSTEMD_UNIT'], options);
      return stdout;
    } catch (err) {
      if (signal.aborted) throw err;
      // There, but without a journal: files may still have what is looked for.
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

/** Whether it could not be run at all; what it says when it fails is its own affair. */
function failure(child: ChildProcess): Promise<boolean> {
  return new Promise((resolve) => {
    child.once('error', () => resolve(true));
    child.once('close', () => resolve(false));
  });
}
