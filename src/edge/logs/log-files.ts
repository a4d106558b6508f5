// The files of containers' logs: opened so that no link leads out of the pod's log directory, read plain or compressed, rotated
// ones found by their names. Upstream: staging/src/k8s.io/cri-client/pkg/logs and the names of pkg/kubelet/logs.
// Invariants: a file swapped for a link, a device or a pipe is refused, and so is one below a directory swapped for a link; what is
// handed out stays the same file when it is renamed or deleted; every handle is closed by who asked for it.
import { closeSync, constants, fstatSync } from 'node:fs';
import { type FileHandle, lstat, open, opendir, readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import type { Gunzip } from 'node:zlib';
import { KubeletError } from '../../base/errors.ts';
import { openFile } from '../files/small-files.ts';
import { errorCode, hostError } from '../syscalls/syscalls-errors.ts';

const flags = constants.O_RDONLY | constants.O_NONBLOCK;
const openPath = 0o10000000;
const packedBytes = 32 * 1024;
/** What follows the name of the current file: the time at which it was rotated, in local time. */
const rotatedSuffix = /^\.\d{8}-\d{6}(\.gz)?$/;

/** Each may be held open by each reader. containerLogMaxFiles is 5 by default. */
const mostRotated = 100;
const mostSeen = 100_000;

/** Undefined when there is none of this name. */
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
      // Whatever happened to the path meanwhile: this is the file that was opened.
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

/** A device or a pipe in its place is looked at and not opened: opening one may wait, or do something. */
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

  async close(): Promise<void> {
    await this.#handle.close();
  }
}

/** Reads forwards; who asks for an earlier place has it unpacked from the beginning again. */
class GzipLog {
  readonly compressed = true;
  readonly identity: string;
  readonly #handle: FileHandle;
  #unpacking: { readonly gunzip: Gunzip; readonly chunks: AsyncIterator<Buffer> } | undefined;
  #rest: Buffer = Buffer.alloc(0);
  #at = 0;

  constructor(handle: FileHandle, identity: string) {
    this.#handle = handle;
    this.identity = identity;
  }

  async read(buffer: Buffer, at: number): Promise<number> {
    if (at < this.#at || this.#unpacking === undefined) await this.#restart();
    for (;;) {
      if (this.#rest.length === 0) {
        const next = await this.#unpacking?.chunks.next().catch(endOfReadable);
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

  /** Unknown before it is unpacked. */
  async size(): Promise<number> {
    return Number.POSITIVE_INFINITY;
  }

  async names(): Promise<number> {
    return (await this.#handle.stat()).nlink;
  }

  async close(): Promise<void> {
    this.#stop();
    await this.#handle.close();
  }

  async #restart(): Promise<void> {
    this.#stop();
    const { createGunzip } = await import('node:zlib');
    const gunzip = createGunzip();
    // Not by a stream of the handle's own: that would close it when unpacking begins again.
    const packed = Readable.from(this.#packed(), { objectMode: false });
    packed.on('error', (err) => gunzip.destroy(err));
    gunzip.on('close', () => packed.destroy());
    packed.pipe(gunzip);
    this.#unpacking = { gunzip, chunks: gunzip[Symbol.asyncIterator]() };
    this.#rest = Buffer.alloc(0);
    this.#at = 0;
  }

  async *#packed(): AsyncGenerator<Buffer> {
    for (let at = 0; ; ) {
      const { buffer, bytesRead } = await this.#handle.read(
        Buffer.allocUnsafe(packedBytes),
        0,
        packedBytes,
        at,
      );
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
      at += bytesRead;
    }
  }

  #stop(): void {
    this.#unpacking?.gunzip.destroy();
    this.#unpacking = undefined;
  }
}

/** A file that is damaged, or was not written to its end, is read as far as it can be: the rest of the log matters more. */
function endOfReadable(err: unknown): undefined {
  if (errorCode(err)?.startsWith('Z_') !== true) throw err;
  return undefined;
}

/** The rotated files of a log, oldest first: the newest mostRotated of them. One that is being compressed is named once. */
export async function rotatedLogs(
  path: string,
): Promise<readonly { readonly path: string; readonly identity: string }[]> {
  const [directory, name] = [dirname(path), basename(path)];
  const rotated = new Set(await rotatedNames(directory, name));
  const kept = [...rotated].filter(
    (each) => !rotated.has(each.replace(/\.gz$/, '')) || !each.endsWith('.gz'),
  );
  const newest = kept.toSorted().slice(-mostRotated);
  const found = newest.map(async (each) => {
    const at = join(directory, each);
    const identity = await identityOf(at, lstat);
    return identity === undefined ? [] : [{ path: at, identity }];
  });
  return (await Promise.all(found)).flat();
}

/** At most mostRotated and as many being compressed; a pod with a writable log directory may have made any number. */
async function rotatedNames(directory: string, name: string): Promise<readonly string[]> {
  let names: string[] = [];
  let seen = 0;
  try {
    for await (const { name: each } of await opendir(directory, { bufferSize: 256 })) {
      if (++seen > mostSeen) break;
      if (!each.startsWith(name) || !rotatedSuffix.test(each.slice(name.length))) continue;
      names.push(each);
      if (names.length >= 4 * mostRotated) names = names.toSorted().slice(-2 * mostRotated);
    }
  } catch {
    return [];
  }
  return names;
}

/** Of what the path leads to now; undefined when there is nothing. */
export function logIdentity(path: string): Promise<string | undefined> {
  return identityOf(path, stat);
}

async function identityOf(path: string, look: typeof stat): Promise<string | undefined> {
  return await look(path, { bigint: true }).then(
    ({ dev, ino }) => `${dev}:${ino}`,
    () => undefined,
  );
}
