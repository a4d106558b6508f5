// A real D-Bus daemon for one test, on a socket in a directory of its own.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProgram } from '../rig/prerequisites.ts';

/** Allows everything, since the test is the only user of the bus. */
const configuration = (socket: string): string => `<!DOCTYPE busconfig PUBLIC
 "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path=${socket}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
`;

export function busUnavailableReason(): string | undefined {
  return findProgram('dbus-daemon') === undefined
    ? 'dbus-daemon not found (make setup installs it)'
    : undefined;
}

export class DbusDaemon {
  readonly #dir = mkdtempSync(join(tmpdir(), 'bus-'));
  readonly address = `unix:path=${join(this.#dir, 'bus')}`;
  #child: ChildProcess | undefined;

  /** Resolves when the daemon listens. */
  async start(): Promise<void> {
    const config = join(this.#dir, 'bus.conf');
    writeFileSync(config, configuration(join(this.#dir, 'bus')));
    const args = [`--config-file=${config}`, '--nofork', '--nopidfile', '--print-address'];
    const child = spawn(findProgram('dbus-daemon') ?? 'dbus-daemon', args, {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#child = child;
    await once(child.stdout, 'data');
  }

  /** Removes the socket too; start() creates it again at the same path. */
  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined) return;
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
  }

  async close(): Promise<void> {
    await this.stop();
    rmSync(this.#dir, { recursive: true, force: true });
  }
}
