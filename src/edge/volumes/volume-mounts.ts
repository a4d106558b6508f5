// Mounts and unmounts for volumes, by system calls or the node's mount commands.
// Upstream: k8s.io/mount-utils. Invariant: a mount requested read-only is never left writable.
import { realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MountHelperRequest, MountPoint } from '../../api/ports/volume-host.ts';
import { isKind, KubeletError } from '../../base/errors.ts';
import { runCommand } from '../mount/mount-helper.ts';
import { MountTableReader, mountsIn, referencesIn } from '../mount/mount-points.ts';
import { loadMountSyscalls, type MountSyscalls, mountFlag } from '../mount/mount-syscalls.ts';
import { orMissing } from './or-missing.ts';

export interface MountCommands {
  readonly mount: string;
  readonly umount: string;
}

/** Bound for mounts stacked on one path; more result only from a loop. */
export const maxLayers = 64;
/** Deadline of umount before the mount is detached. */
const umountTimeoutMs = 5_000;
/** Delays for EBUSY: a child process holds all descriptors of the kubelet between fork and exec. A longer use is real. */
const busyDelaysMs = [5, 20, 75];

export class VolumeMounts {
  readonly #podsDir: string;
  readonly #commands: MountCommands;
  readonly #points = new MountTableReader();
  #syscalls: Promise<MountSyscalls> | undefined;
  /** Whether tmpfs supports `noswap`; undefined until the first mount. */
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

  /** The same for a real path, without links. */
  async table(path: string): Promise<readonly MountPoint[]> {
    return mountsIn(await this.#points.read(), path);
  }

  async references(path: string): Promise<readonly string[]> {
    const [real, table] = await Promise.all([this.#real(path), this.#points.read()]);
    return referencesIn(table, real);
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
        // EINVAL: an older kernel does not support the option.
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
      // No mount is better than a writable one.
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
    for (let layer = 0; layer < maxLayers; layer++) if (!(await this.unmountOne(path))) return;
  }

  /** False if nothing is mounted on the path. */
  async unmountOne(path: string, [delayMs, ...delaysMs] = busyDelaysMs): Promise<boolean> {
    try {
      await (await this.calls()).unmount(path);
      return true;
    } catch (err) {
      const reason = err instanceof KubeletError ? err.reason : '';
      if (reason === 'EINVAL' || reason === 'ENOENT') return false;
      if (reason !== 'EBUSY' || delayMs === undefined) throw err;
    }
    await sleep(delayMs);
    return await this.unmountOne(path, delaysMs);
  }

  async unmountWithHelper(path: string, signal: AbortSignal): Promise<void> {
    if ((await this.below(path)).length === 0) return;
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(umountTimeoutMs)]);
    const failure = await runCommand(this.#commands.umount, ['--', path], deadline).then(
      () => undefined,
      (err: unknown) => ({ err }),
    );
    signal.throwIfAborted();
    if (failure === undefined || (await this.below(path)).length === 0) return;
    // The server does not respond, or the mount is in use: detach it lazily, the kernel unmounts it later.
    await runCommand(this.#commands.umount, ['-f', '-l', '--', path], signal);
  }

  calls(): Promise<MountSyscalls> {
    this.#syscalls ??= loadMountSyscalls();
    return this.#syscalls;
  }

  /** Resolves links up to the pods' and the plugins' directories, as in the mount table. */
  async #real(path: string): Promise<string> {
    const own = [this.#podsDir, `${dirname(this.#podsDir)}/plugins`].find((each) =>
      path.startsWith(`${each}/`),
    );
    if (own === undefined) return path;
    const base = (await orMissing(realpath(own))) ?? own;
    return `${base}${path.slice(own.length)}`;
  }
}
