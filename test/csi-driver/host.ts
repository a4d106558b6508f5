// The host's programs and its mount table, as a CSI driver uses them.
import { execFile } from 'node:child_process';
import { lstatSync, readdirSync, readFileSync, realpathSync, type Stats, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { CallError } from './grpc.ts';

const programTimeoutMs = 60_000;

interface Outcome {
  readonly code: number;
  readonly output: string;
}

function run(program: string, args: readonly string[]): Promise<Outcome> {
  const options = { timeout: programTimeoutMs, killSignal: 'SIGKILL', encoding: 'utf8' } as const;
  return new Promise((resolve) => {
    execFile(program, [...args], options, (err, stdout, stderr) => {
      const code = err === null ? 0 : typeof err.code === 'number' ? err.code : 1;
      resolve({ code, output: code === 0 ? stdout.trim() : `${stdout}${stderr}`.trim() });
    });
  });
}

/** Runs a program that must succeed; its output otherwise is the message of the failed call. */
export async function mustRun(program: string, ...args: readonly string[]): Promise<string> {
  const { code, output } = await run(program, args);
  if (code !== 0) throw new CallError('INTERNAL', `${program} ${args.join(' ')} failed (${code}): ${output}`);
  return output;
}

interface MountEntry {
  readonly path: string;
  readonly source: string;
  readonly fsType: string;
  readonly readonly: boolean;
}

/** The mount table of this mount namespace, the oldest mount first. */
export function mountTable(): readonly MountEntry[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [mount = '', superblock = ''] = line.split(' - ');
      const [, , , , path = '', options = ''] = mount.split(' ');
      const [fsType = '', source = ''] = superblock.split(' ');
      return {
        path: unescapePath(path),
        source: unescapePath(source),
        fsType,
        readonly: options.split(',').includes('ro'),
      };
    });
}

/** The kernel escapes spaces, tabs, newlines and backslashes as octal numbers. */
function unescapePath(path: string): string {
  return path.replaceAll(/\\(\d{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}

/** What is mounted at this very path; more than one entry if mounts are stacked. */
export function mountsAt(path: string): readonly MountEntry[] {
  return mountTable().filter((entry) => entry.path === path);
}

/** Undefined if it does not exist. Follows no symbolic link. */
export function lookUp(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

/** Whether both paths are the same directory, file or device. */
export function isSame(a: string, b: string): boolean {
  const [one, two] = [a, b].map((path) => statSync(path, { throwIfNoEntry: false, bigint: true }));
  if (one === undefined || two === undefined) return false;
  return one.isBlockDevice() && two.isBlockDevice()
    ? one.rdev === two.rdev
    : one.dev === two.dev && one.ino === two.ino;
}

/** Flags of a mount point; the other ones belong to the file system, which a bind mount shares with its source. */
const perMount: ReadonlySet<string> = new Set([
  'ro',
  'nosuid',
  'nodev',
  'noexec',
  'noatime',
  'nodiratime',
  'relatime',
  'strictatime',
]);

export async function bind(source: string, target: string, flags: readonly string[]): Promise<void> {
  await mustRun('mount', '--bind', source, target);
  const own = flags.filter((flag) => perMount.has(flag));
  if (own.length === 0) return;
  try {
    await mustRun('mount', '-o', ['remount', 'bind', ...own].join(','), target);
  } catch (err) {
    await mustRun('umount', target);
    throw err;
  }
}

/** The loop devices with this image; more than one is a defect of the driver. */
export function loopsOf(image: string): readonly string[] {
  return readdirSync('/sys/block')
    .filter((name) => name.startsWith('loop') && backingFile(name) === image)
    .map((name) => `/dev/${name}`);
}

function backingFile(name: string): string {
  try {
    // The kernel marks a removed file.
    return readFileSync(join('/sys/block', name, 'loop/backing_file'), 'utf8')
      .trimEnd()
      .replace(/ \(deleted\)$/, '');
  } catch {
    return '';
  }
}

/** Attaches the image, or returns the device that has it. */
export async function attachLoop(image: string): Promise<string> {
  const [found] = loopsOf(image);
  return found ?? mustRun('losetup', '--find', '--show', image);
}

export async function detachLoops(image: string): Promise<void> {
  for (const device of loopsOf(image)) await mustRun('losetup', '--detach', device);
}

/** The size of a block device. */
export function deviceBytes(device: string): number {
  const name = basename(realpathSync(device));
  return Number(readFileSync(join('/sys/block', name, 'size'), 'utf8')) * 512;
}
