// A process in systemd-logind's place on a private D-Bus daemon, for the real systemd-inhibit. It is Python, since Node.js can
// neither send nor receive the file descriptors of inhibitor locks.
import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { findProgram } from '../rig/prerequisites.ts';
import { waitFor } from '../rig/wait.ts';
import { busUnavailableReason } from './dbus-daemon.ts';

/** The distribution's, for which it packages the modules. */
const python = '/usr/bin/python3';
const script = fileURLToPath(new URL('fake-logind.py', import.meta.url));

export function logindUnavailableReason(): string | undefined {
  const reason = busUnavailableReason();
  if (reason !== undefined) return reason;
  if (findProgram('systemd-inhibit') === undefined)
    return 'systemd-inhibit not found (make setup installs it)';
  try {
    execFileSync(python, ['-c', 'import dbus.service, gi'], { stdio: 'ignore' });
    return undefined;
  } catch {
    return 'python3-dbus and python3-gi not found (make setup installs them)';
  }
}

export class LogindProcess {
  /** What happened, in order: `lock …`, `refused`, `released`, `kill …`, `reloaded …`. */
  readonly events: string[] = [];
  /** Called right after an event was recorded. */
  onEvent: (event: string) => void = () => undefined;
  readonly #busAddress: string;
  readonly #configFile: string;
  #child: ChildProcessWithoutNullStreams | undefined;

  constructor(busAddress: string, configFile: string) {
    this.#busAddress = busAddress;
    this.#configFile = configFile;
  }

  /** Resolves when it has its name on the bus. */
  async start(): Promise<void> {
    const env = { ...process.env, DBUS_SYSTEM_BUS_ADDRESS: this.#busAddress };
    const child = spawn(python, [script, this.#configFile], { env });
    this.#child = child;
    child.stderr.pipe(process.stderr);
    const ready = new Promise<void>((resolve, reject) => {
      child.once('exit', (code) => reject(new Error(`the fake logind exited with ${code}`)));
      createInterface(child.stdout).on('line', (line) => {
        if (line === 'ready') return resolve();
        this.events.push(line);
        this.onEvent(line);
      });
    });
    await ready;
  }

  /** Begins or cancels a shutdown. */
  prepare(active: boolean): void {
    this.#child?.stdin.write(`prepare ${active}\n`);
  }

  /** Whether it refuses locks. */
  refuse(isRefused: boolean): void {
    this.#child?.stdin.write(`refuse ${isRefused}\n`);
  }

  /** Its locks and its name on the bus are gone. */
  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  count(event: string): number {
    return this.events.filter((each) => each.startsWith(event)).length;
  }

  async until(event: string, count = 1): Promise<void> {
    await waitFor(() => this.count(event) >= count, `logind's event "${event}"`);
  }
}
