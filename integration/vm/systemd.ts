// The commands of systemd and of dpkg, on the machine that the tests may change.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { slowness } from '../rig/wait.ts';

const commandMs = 60_000;

/** Undefined on a virtual machine that may be changed. */
export function vmUnavailableReason(): string | undefined {
  if (!existsSync('/vm/command')) return 'not the virtual machine of tools/vm.sh';
  return existsSync('/run/systemd/system') ? undefined : 'systemd does not run';
}

/** Returns the output. Rejects with the error output if the command fails. */
export async function run(program: string, ...args: readonly string[]): Promise<string> {
  const options = {
    timeout: commandMs * slowness,
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  };
  const { stdout } = await promisify(execFile)(program, [...args], options);
  return stdout;
}

export function systemctl(...args: readonly string[]): Promise<string> {
  return run('systemctl', ...args);
}

/** A property of a unit, as of `systemctl show`. */
export async function property(unit: string, name: string): Promise<string> {
  return (await systemctl('show', '--value', `--property=${name}`, unit)).trim();
}

/** Delays a shutdown until the returned function is called. The lock outlives the tests, so that the machine stays up for their report. */
export function holdShutdown(): () => Promise<void> {
  const args = ['--what=shutdown', '--mode=delay', '--who=test', 'sleep', '600'];
  const holder = spawn('systemd-inhibit', args, { stdio: 'ignore', detached: true });
  holder.unref();
  return async () => {
    const ended = once(holder, 'exit');
    holder.kill();
    await ended;
  };
}

/** The owners of the locks that delay a shutdown. */
export async function inhibitors(): Promise<readonly string[]> {
  const list = await run('systemd-inhibit', '--list', '--no-legend', '--no-pager');
  return list
    .split('\n')
    .filter((line) => /\bshutdown\b/.test(line) && /\bdelay\b/.test(line))
    .map((line) => line.trim().split(/\s+/)[0] ?? '');
}
