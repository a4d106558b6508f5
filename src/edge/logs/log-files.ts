// The files of containers' logs: opened only inside the pod's log directory, read plain or compressed; rotated files are found by
// name. Upstream: staging/src/k8s.io/cri-client/pkg/logs and the names of pkg/kubelet/logs.
// Invariants: a file replaced by a link, a device or a pipe is rejected, and so is one below a directory replaced by a link; an
// opened file stays the same when it is renamed or deleted; every handle is closed by its caller.
import { closeSync, constants, fstatSync } from 'node:fs';
import { type FileHandle, lstat, open, opendir, readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import type { Gunzip } from 'node:zlib';
import { parseRotatedLog } from '../../api/pod/rotated-log.ts';
import { KubeletError } from '../../base/errors.ts';
import { openFile } from '../files/small-files.ts';
import { errorCode, hostError } from '../syscalls/syscalls-errors.ts';

const flags = constants.O_RDONLY | constants.O_NONBLOCK;
const openPath = 0o10000000;
const compressedChunkBytes = 32 * 1024;
/** Each reader may hold all of them open. containerLogMaxFiles is 5 by default. */
const maxRotated = 100;
const maxScanned = 100_000;

/** Undefined if the file does not exist. */
export async function openLogFile(
  path: string,
  containerId: string,
): Promise<PlainLog | GzipLog | undefined> {
  try {
    const real = await realpath(path);
    if (!(await isOwnLog(path, real, containerId))) throw leadsOut(path);
    const handle = await openPlain(real, path);
    try {
      const stats = await handle.stat({ bigint: true });
      // The path of the opened file, whatever happened to `path` meanwhile.
      const opened = (await readlink(`/proc/self/fd/${handle.fd}`)).replace(/ \(deleted\)$/, '');
      if (!(await isOwnLog(path, opened, containerId))) throw leadsOut(path);
      const identity = `${stats.dev}:${stats.ino}`;
      return path.endsWith('.gz') ? new GzipLog(handle, identity) : new PlainLog(handle, identity);
    } catch (err) {
      await handle.close();
      throw err;
    }
  } catch (err) {
    if (errorCode(err) === 'ENOENT') return undefined;
    throw err instanceof KubeletError
      ? err
      : hostError(err, `failed to open log file ${JSON.stringify(path)}`);
  }
}

/** Never opens a device or pipe: that may block or have side effects. */
async function openPlain(real: string, path: string): Promise<FileHandle> {
  const found = await openFile(real, openPath | constants.O_NOFOLLOW);
  try {
    if (!fstatSync(found).isFile())
      throw new KubeletError('forbidden', 'NotAFile', `${path} is not a regular file`);
    return await open(`/proc/self/fd/${found}`, flags);
  } finally {
    closeSync(found);
  }
}

/**
 * Whether `real` is in the pod's log directory: <logs>/<pod>/<container>/<file>. Only <logs> itself may be a link, which is the
 * administrator's; or the file is one of Docker's, which is named after the container.
 *
 * differs from upstream: there any link is followed, so that a container with a host path on the log directory can have the
 * kubelet read every file of the node to it.
 */
async function isOwnLog(path: string, real: string, containerId: string): Promise<boolean> {
  const podDir = dirname(dirname(path));
  const root = join(await realpath(dirname(podDir)), basename(podDir));
  if (real.startsWith(`${root}/`)) return true;
  return containerId !== '' && real.endsWith(`/${containerId}/${containerId}-json.log`);
}

function leadsOut(path: string): KubeletError {
  return new KubeletError('forbidden', 'LinkLeadsOut', `${path} leads out of the pod's log directory`);
}

class PlainLog {
  readonly compressed = false;
  readonly identity: string;
  readonly #handle: FileHandle;

  constructor(handle: FileHandle, identity: string) {
    this.#handle = handle;
    this.identity = identity;
  }

  async read(buffer: Buffer, at: number): Promise<number> {
    return (await this.#handle.read(buffer, 0, buffer.length, at)).bytesRead;
  }

  async size(): Promise<number> {
    return (await this.#handle.stat()).size;
  }

  /** How many names the file has; 0 once it is deleted. */
  async names(): Promise<number> {
    return (await this.#handle.stat()).nlink;
  }

  /** Its present name, or the last one if it was deleted. */
  async name(): Promise<string> {
    return await nameOf(this.#handle);
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }
}

/** Reads forwards; a read at an earlier offset decompresses from the beginning again. */
class GzipLog {
  readonly compressed = true;
  readonly identity: string;
  readonly #handle: FileHandle;
  #decompression: { readonly gunzip: Gunzip; readonly chunks: AsyncIterator<Buffer> } | undefined;
  #rest: Buffer = Buffer.alloc(0);
  #at = 0;

  constructor(handle: FileHandle, identity: string) {
    this.#handle = handle;
    this.identity = identity;
  }

  async read(buffer: Buffer, at: number): Promise<number> {
    if (at < this.#at || this.#decompression === undefined) await this.#restart();
    for (;;) {
      if (this.#rest.length === 0) {
        const next = await this.#decompression?.chunks.next().catch(endOfReadable);
        if (next === undefined || next.done === true) return 0;
        this.#rest = next.value;
      }
      const skipped = Math.min(at - this.#at, this.#rest.length);
      this.#rest = this.#rest.subarray(skipped);
      this.#at += skipped;
      if (this.#rest.length === 0) continue;
      const length = this.#rest.copy(buffer);
      this.#rest = this.#rest.subarray(length);
      this.#at += length;
      return length;
    }
  }

  /** Unknown before decompression. */
  async size(): Promise<number> {
    return Number.POSITIVE_INFINITY;
  }

  async names(): Promise<number> {
    return (await this.#handle.stat()).nlink;
  }

  async name(): Promise<string> {
    return await nameOf(this.#handle);
  }

  async close(): Promise<void> {
    this.#stop();
    await this.#handle.close();
  }

  async #restart(): Promise<void> {
    this.#stop();
    const { createGunzip } = await import('node:zlib');
    const gunzip = createGunzip();
    // Not with a stream of the handle: that would close it when decompression restarts.
    const compressed = Readable.from(this.#compressed(), { objectMode: false });
    compressed.on('error', (err) => gunzip.destroy(err));
    gunzip.on('close', () => compressed.destroy());
    compressed.pipe(gunzip);
    this.#decompression = { gunzip, chunks: gunzip[Symbol.asyncIterator]() };
    this.#rest = Buffer.alloc(0);
    this.#at = 0;
  }

  async *#compressed(): AsyncGenerator<Buffer> {
    for (let at = 0; ; ) {
      const { buffer, bytesRead } = await this.#handle.read(
        Buffer.allocUnsafe(compressedChunkBytes),
        0,
        compressedChunkBytes,
        at,
      );
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
      at += bytesRead;
    }
  }

  #stop(): void {
    this.#decompression?.gunzip.destroy();
    this.#decompression = undefined;
  }
}

async function nameOf(handle: FileHandle): Promise<string> {
  return basename((await readlink(`/proc/self/fd/${handle.fd}`)).replace(/ \(deleted\)$/, ''));
}

/** A damaged or incomplete file is read as far as possible: the rest of the log matters more. */
function endOfReadable(err: unknown): undefined {
  if (errorCode(err)?.startsWith('Z_') !== true) throw err;
  return undefined;
}

/** The newest maxRotated rotated files of a log, oldest first. A file that is being compressed is listed once. */
export async function rotatedLogs(
  path: string,
): Promise<readonly { readonly path: string; readonly identity: string }[]> {
  const [directory, name] = [dirname(path), basename(path)];
  const rotated = new Set(await rotatedNames(directory, name));
  const unique = [...rotated].filter(
    (each) => !rotated.has(each.replace(/\.gz$/, '')) || !each.endsWith('.gz'),
  );
  const newest = unique.toSorted().slice(-maxRotated);
  const found = newest.map(async (each) => {
    const at = join(directory, each);
    const identity = await identityOf(at, lstat);
    return identity === undefined ? [] : [{ path: at, identity }];
  });
  return (await Promise.all(found)).flat();
}

/** At most maxRotated and as many being compressed; a pod with a writable log directory may create any number. */
async function rotatedNames(directory: string, name: string): Promise<readonly string[]> {
  let names: string[] = [];
  let scanned = 0;
  try {
    for await (const { name: each } of await opendir(directory, { bufferSize: 256 })) {
      if (++scanned > maxScanned) break;
      const kind = parseRotatedLog(name, each)?.kind;
      if (kind !== 'plain' && kind !== 'compressed') continue;
      names.push(each);
      if (names.length >= 4 * maxRotated) names = names.toSorted().slice(-2 * maxRotated);
    }
  } catch {
    return [];
  }
  return names;
}

/** The identity of the file at the path now; undefined if there is none. */
export function logIdentity(path: string): Promise<string | undefined> {
  return identityOf(path, stat);
}

async function identityOf(path: string, look: typeof stat): Promise<string | undefined> {
  return await look(path, { bigint: true }).then(
    ({ dev, ino }) => `${dev}:${ino}`,
    () => undefined,
  );
}
