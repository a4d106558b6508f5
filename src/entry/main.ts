// The entry point of the kubelet process. Installs signal handlers before anything else is loaded, so that a signal during
// start-up is a clean stop. Invariant: only this file ends the process and handles its signals.
import inspector from 'node:inspector';
import { Aborted } from '../base/errors.ts';

const stop = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.on(signal, () => stop.abort(new Aborted(signal)));

// Node.js opens its inspector on SIGUSR1, and every local user who can connect to it can run code as root.
process.on('SIGUSR1', () => undefined);
closeInspector();

try {
  const code = await run(process.argv.slice(2));
  process.exitCode = code;
  // The event loop should be empty by now; a leaked handle must not keep a stopped kubelet alive.
  setTimeout(() => process.exit(code), 1_000).unref();
} catch (err) {
  process.stderr.write(`kubelet: ${err instanceof Error ? err.message : String(err)}\n`);
  process.exit(1);
}

/** The kubelet, or the command that the first argument names. Each loads only its own code. */
async function run(argv: readonly string[]): Promise<number> {
  const { findSubcommand } = await import('../config/command-line/subcommands.ts');
  const command = findSubcommand(argv);
  if (command !== undefined) {
    const { runSubcommand } = await import('./commands/run-subcommand.ts');
    return await runSubcommand(command.name, { args: command.args, signal: stop.signal });
  }
  const { runCommand } = await import('./command.ts');
  // Node.js may have handled a signal from before the handler was installed only now.
  closeInspector();
  return await runCommand(argv, stop, import.meta.url);
}

/** Closes an inspector that a signal opened. One requested on the command line of Node.js stays open. */
function closeInspector(): void {
  const options = [...process.execArgv, ...(process.env['NODE_OPTIONS'] ?? '').split(' ')];
  const isRequested = options.some((option) => /^--inspect(-brk|-wait)?(=|$)/.test(option));
  if (!isRequested && inspector.url() !== undefined) inspector.close();
}
