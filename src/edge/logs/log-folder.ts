// The directory of a container's log, for its rotation. Upstream: the file operations of pkg/kubelet/logs.
// Invariants: only regular files below the directory of logs are touched; no directory on the way there is a link, verified on the
// open descriptor, through which every entry is reached; the number of entries read is bounded.
// differs from upstream: there links are followed, so that a container with a host path on the log directory can have the kubelet
// rename, compress and delete any file of the node.
import { closeSync, constants } from 'node:fs';
import { link, lstat, opendir, realpath, rename, unlink } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { parseRotatedLog } from '../../api/pod/rotated-log.ts';
import { isAbort, KubeletError } from '../../base/errors.ts';
import { openFile } from '../files/small-files.ts';
import { errorCode, hostError } from '../syscalls/syscalls-errors.ts';
import { entryOf, realPathOf } from '../volumes/descriptors.ts';
import { compressFile } from './compress-file.ts';

interface FolderEntry {
  readonly name: string;
  readonly identity: string;
  readonly changedAtMs: number;
}

const directoryPath = 0o10000000 | constants.O_DIRECTORY;
/** A pod with a writable log directory may create any number. */
const maxScanned = 100_000;
const maxEntries = 1_000;

/** The descriptor of the log's directory, which the caller closes. Only `below` itself may be a link. */
export async function openLogDirectory(path: string, below: string): Promise<number> {
  const directory = dirname(path);
  if (!directory.startsWith(`${below}/`) || directory.includes('/../'))
    throw new KubeletError('forbidden', 'NotALog', `${path} is not below ${below}`);
  const fd = await openFile(directory, directoryPath);
  try {
    const real = realPathOf(fd);
    if (real !== directory && real !== `${await realpath(below)}${directory.slice(below.length)}`)
      throw new KubeletError('forbidden', 'LinkLeadsOut', `${directory} leads out of ${below}`);
    return fd;
  } catch (err) {
    closeSync(fd);
    throw err;
  }
}

export class LogFolder {
  readonly #fd: number;
  readonly #live: string;

  constructor(fd: number, path: string) {
    this.#fd = fd;
    this.#live = basename(path);
  }

  async list(): Promise<readonly FolderEntry[]> {
    const names: string[] = [];
    let scanned = 0;
    for await (const { name } of await opendir(`/proc/self/fd/${this.#fd}`, { bufferSize: 256 })) {
      if (++scanned > maxScanned || names.length >= maxEntries) break;
      if (name === this.#live || parseRotatedLog(this.#live, name) !== undefined) names.push(name);
    }
    const entries = await Promise.all(names.map((name) => this.#entry(name)));
    return entries.filter((each) => each !== undefined);
  }

  async #entry(name: string): Promise<FolderEntry | undefined> {
    try {
      const stats = await lstat(this.#path(name));
      if (!stats.isFile()) return undefined;
      const { ctimeMs, dev, ino, mtimeMs } = stats;
      return { name, identity: `${dev}:${ino}`, changedAtMs: Math.max(ctimeMs, mtimeMs) };
    } catch (err) {
      if (errorCode(err) === 'ENOENT') return undefined;
      throw err;
    }
  }

  async move(from: string, to: string): Promise<void> {
    await rename(this.#path(from), this.#path(to)).catch((err: unknown) => {
      throw hostError(err, `failed to rename ${from} to ${to}`);
    });
  }

  async moveBack(from: string, to: string): Promise<boolean> {
    try {
      await link(this.#path(from), this.#path(to));
    } catch (err) {
      if (errorCode(err) === 'EEXIST') return false;
      // A file system without links.
      if ((await this.#entry(to)) !== undefined) return false;
      await rename(this.#path(from), this.#path(to));
      return true;
    }
    await unlink(this.#path(from));
    return true;
  }

  async remove(name: string): Promise<void> {
    await unlink(this.#path(name)).catch((err: unknown) => {
      if (errorCode(err) !== 'ENOENT') throw err;
    });
  }

  async compress(from: string, to: string, signal: AbortSignal): Promise<void> {
    try {
      await compressFile(this.#path(from), this.#path(to), signal);
    } catch (err) {
      if (isAbort(err) || err instanceof KubeletError) throw err;
      throw hostError(err, `failed to compress ${from}`);
    }
  }

  close(): void {
    closeSync(this.#fd);
  }

  #path(name: string): string {
    return entryOf(this.#fd, name);
  }
}
