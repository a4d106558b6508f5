// The output of a command: stdout with back-pressure, stderr, and the terminal.
// Invariant: a reader that is gone, as in `kubelet logs web | head`, is noticed at the next text and is not an error.
import type { CommandOutput } from './command-call.ts';

/** The reader of stdout has closed it: the command is done. */
export class ReaderGone extends Error {
  override readonly name = 'ReaderGone';
}

const usualColumns = 80;
const usualRows = 24;

interface OutputStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  write(text: string | Uint8Array, done: (err?: Error | null) => void): boolean;
  once(event: 'drain', listener: () => void): unknown;
  on(event: 'error', listener: (err: Error) => void): unknown;
}

interface ProcessOutputDeps {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export function processOutput({ env, stderr, stdout }: ProcessOutputDeps): CommandOutput {
  let gone: Error | undefined;
  const fail = (err: Error): Error => {
    gone ??= (err as NodeJS.ErrnoException).code === 'EPIPE' ? new ReaderGone('the reader is gone') : err;
    return gone;
  };
  stdout.on('error', fail);
  stderr.on('error', () => undefined);
  const isTerminal = stdout.isTTY === true;
  const noColour = env['NO_COLOR'] !== undefined && env['NO_COLOR'] !== '';
  return {
    print: (text) =>
      new Promise<void>((resolve, reject) => {
        if (gone !== undefined) {
          reject(gone);
          return;
        }
        // The end of the write, not the state of the buffer: what a signal finds unwritten would be lost.
        stdout.write(text, (err) => {
          if (err === undefined || err === null) resolve();
          else reject(fail(err));
        });
      }),
    warn: (text) => {
      stderr.write(text, () => undefined);
    },
    // A terminal may not know its size, or report 0.
    columns: () => (isTerminal ? stdout.columns || usualColumns : undefined),
    rows: () => (isTerminal ? stdout.rows || usualRows : undefined),
    colours: isTerminal && !noColour && env['TERM'] !== 'dumb',
  };
}
