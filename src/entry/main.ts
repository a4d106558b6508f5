// The kubelet command. Signals are heard before anything else is loaded, so that a stop during start-up is a clean stop.
// Invariant: this is the only place that ends the process and listens to its signals.
import inspector from 'node:inspector';
import { Aborted } from '../base/errors.ts';

const stop = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.on(signal, () => stop.abort(new Aborted(signal)));

// Node opens its inspector on SIGUSR1, and every local user who can connect to it runs code as root.
process.on('SIGUSR1', () => undefined);
closeInspector();

try {
  const { runCommand } = await import('./command.ts');
  // A signal from before the handler may only have been acted on meanwhile.
  closeInspector();
  const code = await runCommand(process.argv.slice(2), stop, import.meta.url);
  process.exitCode = code;
  // Nothing keeps the loop alive by now; a handle that does must not keep a stopped kubelet in the process table.
  setTimeout(() => process.exit(code), 1_000).unref();
} catch (err) {
  process.stderr.write(`kubelet: ${err instanceof Error ? err.message : String(err)}\n`);
  process.exit(1);
}

/** Closes an inspector that a signal has opened. One that was asked for on Node's command line stays. */
function closeInspector(): void {
  const options = [...process.execArgv, ...(process.env['NODE_OPTIONS'] ?? '').split(' ')];
  const isWanted = options.some((option) => /^--inspect(-brk|-wait)?(=|$)/.test(option));
  if (!isWanted && inspector.url() !== undefined) inspector.close();
}
