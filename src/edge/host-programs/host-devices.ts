// Reads /dev, /sys and the mount table, and writes to sysfs. Upstream: pkg/volume/util/io.go, GetDeviceNameFromMount of
// k8s.io/mount-utils. Invariants: reads and lists are bounded; writes reach only existing files below /sys, also through links;
// a write that the kernel does not finish blocks another process, never a thread of the kubelet.
import { opendir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, normalize } from 'node:path';
import type { HostDevices, HostPrograms } from '../../api/ports/host-programs.ts';
import { KubeletError } from '../../base/errors.ts';
import { readSmallFile } from '../files/small-files.ts';
import { parseMountTable } from '../mount/mount-table.ts';
import { errorCode, hostError } from '../syscalls/syscalls-errors.ts';

interface NodeDevicesOptions {
  readonly programs: Pick<HostPrograms, 'run'>;
  /** Default: `/sys`. */
  readonly sysDir?: string;
  /** Default: `/proc/self/mountinfo`. */
  readonly mountTable?: string;
  /** Default: 30 s. */
  readonly writeTimeoutMs?: number;
}

const maxNames = 10_000;
const sysfsBytes = 4096;
const tableBytes = 256 * 1024 * 1024;
const isMissing = (err: unknown): boolean =>
  ['ENOENT', 'ENOTDIR', 'ENODEV', 'ENXIO'].includes(errorCode(err) ?? '');

export class NodeHostDevices implements HostDevices {
  readonly #programs: Pick<HostPrograms, 'run'>;
  readonly #sysDir: string;
  readonly #mountTable: string;
  readonly #writeTimeoutMs: number;

  constructor(options: NodeDevicesOptions) {
    this.#programs = options.programs;
    this.#sysDir = options.sysDir ?? '/sys';
    this.#mountTable = options.mountTable ?? '/proc/self/mountinfo';
    this.#writeTimeoutMs = options.writeTimeoutMs ?? 30_000;
  }

  async list(path: string): Promise<readonly string[]> {
    const names: string[] = [];
    await orMissing(`cannot list ${path}`, async () => {
      for await (const { name } of await opendir(path, { bufferSize: 256 })) {
        if (names.length >= maxNames)
          throw new KubeletError(
            'invalid',
            'TooMany',
            `refusing to list ${path}: more than ${maxNames} names`,
          );
        names.push(name);
      }
    });
    return names;
  }

  async exists(path: string): Promise<boolean> {
    return (await orMissing(`cannot stat ${path}`, async () => await stat(path))) !== undefined;
  }

  async resolve(path: string): Promise<string | undefined> {
    return await orMissing(`cannot resolve ${path}`, async () => await realpath(path));
  }

  async read(path: string, limitBytes: number): Promise<string | undefined> {
    // A file of sysfs claims the size of a page, whatever its content.
    const limit = Math.max(limitBytes, sysfsBytes);
    const text = await orMissing(
      `cannot read ${path}`,
      async () => await readSmallFile(path, { limitBytes: limit, followLinks: true }),
    );
    if (text === undefined || text.length <= limitBytes) return text;
    throw new KubeletError('invalid', 'TooLarge', `refusing to read ${path}: more than ${limitBytes} bytes`);
  }

  async writeSysfs(path: string, text: string, signal: AbortSignal): Promise<void> {
    const real = normalize(path) === path ? await this.resolve(path) : path;
    if (real === undefined) throw new KubeletError('not-found', 'ENOENT', `${path} does not exist`);
    const root = (await this.resolve(this.#sysDir)) ?? this.#sysDir;
    if (normalize(path) !== path || !path.startsWith(`${this.#sysDir}/`) || !real.startsWith(`${root}/`))
      throw new KubeletError(
        'invalid',
        'OutsideSysfs',
        `refusing to write ${path}: not below ${this.#sysDir}`,
      );
    const run = {
      program: 'sh',
      args: ['-c', 'printf %s "$1" >"$2"', 'sh', text, real],
      timeoutMs: this.#writeTimeoutMs,
      outputBytes: 1024,
    };
    const { code, stderr } = await this.#programs.run(run, signal);
    if (code === 0) return;
    throw new KubeletError('unavailable', 'SysfsWriteFailed', `cannot write ${path}: ${stderr.trim()}`);
  }

  async mountedDevice(path: string): Promise<string | undefined> {
    const parent = await this.resolve(dirname(path));
    if (parent === undefined) return undefined;
    const real = `${parent}/${basename(path)}`;
    const table = await readSmallFile(this.#mountTable, { limitBytes: tableBytes });
    // Unescaped names only: the caller's paths have no blanks.
    const line = table
      .split('\n')
      .filter((each) => each.includes(` ${real} `))
      .findLast((each) => parseMountTable(each)[0]?.mountPoint === real);
    return line?.split(' - ')[1]?.split(' ')[1];
  }
}

async function orMissing<T>(what: string, call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (err) {
    if (isMissing(err)) return undefined;
    throw err instanceof KubeletError ? err : hostError(err, what);
  }
}
