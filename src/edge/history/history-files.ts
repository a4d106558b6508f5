// The files of the history of ends, in one directory. Upstream has no counterpart.
// Invariants: only the kubelet's user can read them (directory 0700, files 0600); links are not followed; an append that fails is
// undone; every call has a deadline, and a hung file system is not accessed again before it has responded. A record is not synced:
// it survives a kill of the kubelet at once, a power loss after the kernel has written it back.
import { closeSync, constants, fstatSync, ftruncateSync } from 'node:fs';
import { lstat, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { withDeadline } from '../../base/abort/deadline.ts';
import type { Clock } from '../../base/clock.ts';
import { isKind, KubeletError } from '../../base/errors.ts';
import { isMissing } from '../files/pod-files.ts';
import { openFile, openRegular, readInto, writeAll } from '../files/small-files.ts';
import { hostError } from '../syscalls/syscalls-errors.ts';

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants;
const deadlineMs = 10_000;

export class HistoryDirectory {
  readonly #directory: string;
  readonly #clock: Clock;
  /** Calls that have not returned since their deadline. */
  #unanswered = 0;

  constructor(directory: string, clock: Clock) {
    this.#directory = directory;
    this.#clock = clock;
  }

  async list(): Promise<readonly { readonly name: string; readonly size: number }[]> {
    return await this.#call('list', async () => {
      const names = await readdir(this.#directory).catch(missingAs<string[]>([]));
      const files: { readonly name: string; readonly size: number }[] = [];
      for (const name of names) {
        const stats = await lstat(join(this.#directory, name)).catch(missingAs(undefined));
        if (stats?.isFile() === true) files.push({ name, size: stats.size });
      }
      return files;
    });
  }

  async read(name: string, at: number, length: number): Promise<Uint8Array> {
    return await this.#call('read', async () => {
      const opened = await openRegular(join(this.#directory, name)).catch(missingAs(undefined));
      if (opened === undefined) return new Uint8Array();
      try {
        const buffer = Buffer.allocUnsafe(length);
        const { bytesRead } = await readInto(opened.fd, buffer, 0, length, at);
        return buffer.subarray(0, bytesRead);
      } finally {
        closeSync(opened.fd);
      }
    });
  }

  async append(name: string, bytes: Uint8Array): Promise<void> {
    await this.#call('append to', async () => {
      const path = join(this.#directory, name);
      const fd = await openForAppend(path).catch(async (err: unknown) => {
        if (!isMissing(err)) throw err;
        await mkdir(this.#directory, { recursive: true, mode: 0o700 });
        return await openForAppend(path);
      });
      try {
        const stats = fstatSync(fd);
        if (!stats.isFile()) throw new KubeletError('invalid', 'NotAFile', `${path} is not a regular file`);
        await writeAll(fd, bytes).catch((err: unknown) => {
          // The disk may be full: do not leave a torn line.
          ftruncateSync(fd, stats.size);
          throw err;
        });
      } finally {
        closeSync(fd);
      }
    });
  }

  async remove(name: string): Promise<void> {
    await this.#call('remove', () => rm(join(this.#directory, name), { force: true }));
  }

  async #call<T>(what: string, work: () => Promise<T>): Promise<T> {
    const clock = this.#clock;
    const described = `${what} history in ${this.#directory}`;
    // Another call would occupy another of the few threads of Node's pool.
    if (this.#unanswered > 0)
      throw new KubeletError('unavailable', 'NoAnswer', `failed to ${described}: the disk does not answer`);
    let isLate = false;
    const observed = async (): Promise<T> => {
      try {
        return await work();
      } finally {
        if (isLate) this.#unanswered--;
      }
    };
    try {
      return await withDeadline({ clock, ms: deadlineMs, what: described }, observed);
    } catch (err) {
      if (isKind(err, 'timeout')) {
        isLate = true;
        this.#unanswered++;
      }
      throw err instanceof KubeletError ? err : hostError(err, `failed to ${described}`);
    }
  }
}

function openForAppend(path: string): Promise<number> {
  return openFile(path, O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_WRONLY, 0o600);
}

function missingAs<T>(value: T): (err: unknown) => T {
  return (err) => {
    if (isMissing(err)) return value;
    throw err;
  };
}
