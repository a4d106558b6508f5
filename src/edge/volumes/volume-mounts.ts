// Mounts and unmounts what volumes need, by system calls or by the machine's own commands. Holds no state but what it has loaded.
// Upstream: k8s.io/mount-utils. Invariant: what is asked for read-only is never left writable.
import { realpath } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MountHelperRequest, MountPoint } from '../../api/ports/volume-host.ts';
import { isKind, KubeletError } from '../../base/errors.ts';
import { runCommand } from '../mount/mount-helper.ts';
import { MountTableReader, mountsIn } from '../mount/mount-points.ts';
import { loadMountSyscalls, type MountSyscalls, mountFlag } from '../mount/mount-syscalls.ts';
import { orMissing } from './or-missing.ts';

export interface MountCommands {
  readonly mount: string;
  readonly umount: string;
}

/** Mounts on top of each other at one place; more than this is nobody's doing but a loop's. */
export const mostLayers = 64;
/** How long umount may wait for a server before the mount is detached. */
const helperPatienceMs = 5_000;
/** A program that is being started holds every file that is open here until it runs. Who holds one for longer means it. */
const busyPausesMs = [5, 20, 75];

export class VolumeMounts {
  readonly #podsDir: string;
  readonly #commands: MountCommands;
  readonly #points = new MountTableReader();
  #syscalls: Promise<MountSyscalls> | undefined;
  /** Whether tmpfs takes `noswap`; unknown until one was mounted. */
  #noswap: boolean | undefined;

  constructor(podsDir: string, commands: MountCommands) {
    this.#podsDir = podsDir;
    this.#commands = commands;
  }

  async below(path: string): Promise<readonly MountPoint[]> {
    const [real, table] = await Promise.all([this.#real(path), this.#points.read()]);
    const mounts = mountsIn(table, real);
    return mounts.map((mount) => ({ ...mount, path: `${path}${mount.path.slice(real.length)}` }));
  }

  /** The same by the paths that the kernel knows. */
  async table(path: string): Promise<readonly MountPoint[]> {
    return mountsIn(await this.#points.read(), path);
  }

  async tmpfs(path: string, sizeBytes: bigint | undefined): Promise<void> {
    const size = sizeBytes === undefined ? [] : [`size=${sizeBytes}`];
    const mount = async (options: readonly string[]): Promise<void> =>
      await (await this.calls()).mount({
        source: 'tmpfs',
        target: path,
        fsType: 'tmpfs',
        flags: 0,
        options: options.length === 0 ? null : options.join(','),
      });
    if (this.#noswap !== false) {
      try {
        await mount([...size, 'noswap']);
        this.#noswap = true;
        return;
      } catch (err) {
        // What an older kernel says to an option it does not know.
        if (this.#noswap === true || !isKind(err, 'invalid')) throw err;
        this.#noswap = false;
      }
    }
    await mount(size);
  }

  async hugePages(path: string, pageSizeBytes: bigint): Promise<void> {
    const options = `pagesize=${pageSizeBytes}`;
    await (await this.calls()).mount({
      source: 'nodev',
      target: path,
      fsType: 'hugetlbfs',
      flags: 0,
      options,
    });
  }

  async bind(source: string, target: string, options: { readonly readOnly: boolean }): Promise<void> {
    const calls = await this.calls();
    await calls.mount({ source, target, fsType: null, flags: mountFlag.bind, options: null });
    if (!options.readOnly) return;
    const flags = mountFlag.bind | mountFlag.remount | mountFlag.readOnly;
    try {
      await calls.mount({ source, target, fsType: null, flags, options: null });
    } catch (err) {
      // Writable where read-only was asked for is worse than not there.
      await calls.unmount(target);
      throw err;
    }
  }

  async withHelper(request: MountHelperRequest, signal: AbortSignal): Promise<void> {
    const { fsType, source, target, options } = request;
    const flags = options.length === 0 ? [] : ['-o', options.join(',')];
    await runCommand(this.#commands.mount, ['-t', fsType, ...flags, '--', source, target], signal);
  }

  async unmount(path: string): Promise<void> {
    for (let layer = 0; layer < mostLayers; layer++) if (!(await this.unmountOne(path))) return;
  }

  /** False when nothing is mounted there. */
  async unmountOne(path: string, [pauseMs, ...pausesMs] = busyPausesMs): Promise<boolean> {
    try {
      await (await this.calls()).unmount(path);
      return true;
    } catch (err) {
      const reason = err instanceof KubeletError ? err.reason : '';
      if (reason === 'EINVAL' || reason === 'ENOENT') return false;
      if (reason !== 'EBUSY' || pauseMs === undefined) throw err;
    }
    await sleep(pauseMs);
    return await this.unmountOne(path, pausesMs);
  }

  async unmountWithHelper(path: string, signal: AbortSignal): Promise<void> {
    if ((await this.below(path)).length === 0) return;
    const patience = AbortSignal.any([signal, AbortSignal.timeout(helperPatienceMs)]);
    const failure = await runCommand(this.#commands.umount, ['--', path], patience).then(
      () => undefined,
      (err: unknown) => ({ err }),
    );
    signal.throwIfAborted();
    if (failure === undefined || (await this.below(path)).length === 0) return;
    // The server does not answer, or somebody still looks at it: it is taken out of the tree, the kernel ends it later.
    await runCommand(this.#commands.umount, ['-f', '-l', '--', path], signal);
  }

  calls(): Promise<MountSyscalls> {
    this.#syscalls ??= loadMountSyscalls();
    return this.#syscalls;
  }

  /** With the links on the way resolved, as the kernel's table has it; the last element stays as it is. */
  async #real(path: string): Promise<string> {
    if (!path.startsWith(`${this.#podsDir}/`)) return path;
    const base = (await orMissing(realpath(this.#podsDir))) ?? this.#podsDir;
    return `${base}${path.slice(this.#podsDir.length)}`;
  }
}
