// Reads the ends of files that containers write: their termination message and their log. Upstream: pkg/util/tail (ReadAtMost)
// and kuberuntime's readLastStringFromContainerLogs. Invariant: only files that the kubelet or the runtime created are read.
// differs from upstream: links are rejected. The text becomes part of the pod's status, so that a pod with a writable host path on
// the log directory could read the end of any file of the node, such as a private key.
import { closeSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { KubeletError } from '../../base/errors.ts';
import { isMissing } from '../files/pod-files.ts';
import { openRegular, readInto } from '../files/small-files.ts';
import { realPathOf } from '../volumes/descriptors.ts';
import { openLogFile } from './log-files.ts';

interface Tail {
  readonly bytes: Uint8Array;
  /** Whether `bytes` is the whole file. */
  readonly whole: boolean;
}

/** The end of a termination message; undefined if the file does not exist. */
export async function readTail(path: string, bytes: number): Promise<Tail | undefined> {
  try {
    const { fd, stats } = await openRegular(path);
    try {
      checkLinkCount(stats.nlink);
      await checkLocation(path, realPathOf(fd));
      const { size } = stats;
      const length = Math.min(size, bytes);
      const buffer = Buffer.alloc(length);
      const { bytesRead } = await readInto(fd, buffer, 0, length, size - length);
      return { bytes: buffer.subarray(0, bytesRead), whole: length === size };
    } finally {
      closeSync(fd);
    }
  } catch (err) {
    if (isMissing(err)) return undefined;
    throw new KubeletError('internal', 'FailedRead', `cannot read ${path}`, { cause: err });
  }
}

/** The end of a container's log, opened as for log requests; undefined if the file does not exist. */
export async function readLogTail(
  path: string,
  containerId: string,
  bytes: number,
): Promise<Tail | undefined> {
  try {
    const log = await openLogFile(path, containerId);
    if (log === undefined) return undefined;
    try {
      checkLinkCount(await log.names());
      const size = await log.size();
      // The size of a compressed file is unknown, and current logs are never compressed.
      if (!Number.isFinite(size)) throw new KubeletError('invalid', 'Compressed', 'it is compressed');
      const length = Math.min(size, bytes);
      const buffer = Buffer.alloc(length);
      const bytesRead = await log.read(buffer, size - length);
      return { bytes: buffer.subarray(0, bytesRead), whole: length === size };
    } finally {
      await log.close();
    }
  } catch (err) {
    throw new KubeletError('internal', 'FailedRead', `cannot read ${path}`, { cause: err });
  }
}

/**
 * Neither the kubelet nor a runtime creates hard links to these files. A pod can, to a file in the same mount, such as one
 * of another pod in the log directory; if fs.protected_hardlinks is off, also to a file that it may not read itself.
 */
function checkLinkCount(links: number): void {
  if (links > 1) throw new KubeletError('forbidden', 'HardLink', 'it has several hard links');
}

/** `<root>/pods/<uid>/containers/<name>/<file>`: `<root>/pods` may be a link of the administrator's, nothing below it. */
async function checkLocation(path: string, real: string): Promise<void> {
  const opened = real.replace(/ \(deleted\)$/, '');
  if (opened === path) return;
  const podsDir = dirname(dirname(dirname(dirname(path))));
  if (opened === join(await realpath(podsDir), path.slice(podsDir.length))) return;
  throw new KubeletError('forbidden', 'LinkLeadsOut', `${basename(path)} is reached through a link`);
}
