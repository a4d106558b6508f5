// Space, inodes, options and propagation of the file system of a directory. Invariant: a file system that does not answer blocks a
// child process only: a thread of this process that waits for it could not be ended, and would keep the command from exiting.
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { KubeletError } from '../../base/errors.ts';
import { NodePrograms } from '../host-programs/host-programs.ts';
import { parseMountTable } from '../mount/mount-table.ts';

interface DiskState {
  readonly path: string;
  readonly exists: boolean;
  readonly mountPoint: string;
  readonly availableBytes: bigint;
  readonly totalBytes: bigint;
  readonly inodesFree: bigint;
  readonly inodes: bigint;
  readonly isReadOnly: boolean;
  readonly isShared: boolean;
}

/** The caller's deadline is shorter. */
const statTimeoutMs = 60_000;
const mountTable = '/proc/self/mountinfo';

/** Of the directory, or of the nearest one above it that exists. Only the signal ends a call that hangs. */
export async function readDisk(directory: string, signal: AbortSignal): Promise<DiskState> {
  const { mountPoint, path } = await locate(directory, signal);
  const text = await stat(['-f', '-c', '%S %b %a %c %d', path], signal);
  const numbers = text.trim().split(' ');
  if (numbers.length !== 5 || numbers.some((each) => !/^[0-9]{1,20}$/.test(each)))
    throw new KubeletError(
      'internal',
      'UnknownOutput',
      `stat -f ${path} printed something else than numbers`,
    );
  const [blockSize = 0n, blocks = 0n, available = 0n, inodes = 0n, inodesFree = 0n] = numbers.map(BigInt);
  return {
    path,
    exists: path === directory,
    mountPoint,
    availableBytes: available * blockSize,
    totalBytes: blocks * blockSize,
    inodesFree,
    inodes,
    ...optionsOf(await readFile(mountTable, 'utf8'), mountPoint),
  };
}

async function locate(
  directory: string,
  signal: AbortSignal,
): Promise<{ readonly path: string; readonly mountPoint: string }> {
  for (let path = directory; ; path = dirname(path)) {
    const mountPoint = await stat(['-L', '-c', '%m', path], signal).catch((err: unknown) => {
      if (err instanceof KubeletError && err.kind === 'not-found' && path !== '/') return undefined;
      throw err;
    });
    if (mountPoint !== undefined) return { path, mountPoint: mountPoint.replace(/\n$/, '') };
  }
}

async function stat(args: readonly string[], signal: AbortSignal): Promise<string> {
  // In the words of the C locale, which are compared below.
  const run = {
    program: 'env',
    args: ['LC_ALL=C', 'stat', ...args],
    timeoutMs: statTimeoutMs,
    outputBytes: 8192,
  };
  const { code, stderr, stdout } = await new NodePrograms().run(run, signal);
  if (code === 0) return stdout;
  const kind = /No such file|Not a directory/.test(stderr) ? 'not-found' : 'internal';
  throw new KubeletError(kind, 'StatFailed', stderr.trim() || `stat exited with code ${code}`);
}

/** The last entry is the one on top. */
export function optionsOf(
  table: string,
  mountPoint: string,
): { readonly isReadOnly: boolean; readonly isShared: boolean } {
  const lines = table.split('\n').filter((line) => line !== '');
  const line = lines.findLast((each) => parseMountTable(each)[0]?.mountPoint === mountPoint) ?? '';
  const [entry] = parseMountTable(line);
  const mountOptions = line.split(' ')[5]?.split(',') ?? [];
  return {
    isReadOnly: mountOptions.includes('ro') || entry?.superOptions.includes('ro') === true,
    isShared: entry?.isShared === true,
  };
}
