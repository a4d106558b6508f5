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
  const { runCommand } = await import('./command.ts');
  // Node.js may have handled a signal from before the handler was installed only now.
  closeInspector();
  const code = await runCommand(process.argv.slice(2), stop, {
    entryUrl: import.meta.url,
    // Without a listener SIGHUP ends the process.
    onHangup: (listener) => void process.on('SIGHUP', listener),
  });
  process.exitCode = code;
  // The event loop should be empty by now; a leaked handle must not keep a stopped kubelet alive.
  setTimeout(() => process.exit(code), 1_000).unref();
} catch (err) {
  process.stderr.write(`kubelet: ${err instanceof Error ? err.message : String(err)}\n`);
  process.exit(1);
}

/** Closes an inspector that a signal opened. One requested on the command line of Node.js stays open. */
function closeInspector(): void {
  const options = [...process.execArgv, ...(process.env['NODE_OPTIONS'] ?? '').split(' ')];
  const isRequested = options.some((option) => /^--inspect(-brk|-wait)?(=|$)/.test(option));
  if (!isRequested && inspector.url() !== undefined) inspector.close();
}
