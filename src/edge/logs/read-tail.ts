// The ends of files that containers write: their termination message and their log. Upstream: pkg/util/tail (ReadAtMost) and
// kuberuntime's readLastStringFromContainerLogs. Invariant: what is read is the file that the kubelet or the runtime made there.
// differs from upstream: links are refused. What is read ends up in the pod's status, and a pod with a writable host path on
// the log directory could have had it show the end of any file of the node, as of a private key.
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
  /** Whether that is all of the file. */
  readonly whole: boolean;
}

/** Of a termination message. Undefined when there is no such file. */
export async function readTail(path: string, bytes: number): Promise<Tail | undefined> {
  try {
    const { fd, stats } = await openRegular(path);
    try {
      checkNames(stats.nlink);
      await checkPlace(path, realPathOf(fd));
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

/** Of a container's log, opened as for those who read logs. Undefined when there is no such file. */
export async function readLogTail(
  path: string,
  containerId: string,
  bytes: number,
): Promise<Tail | undefined> {
  try {
    const log = await openLogFile(path, containerId);
    if (log === undefined) return undefined;
    try {
      checkNames(await log.names());
      const size = await log.size();
      // The size of what is compressed is unknown, and no log is while it is written.
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
 * Neither the kubelet nor a runtime gives these files a second name. A pod can, to a file that lies in the same mount, as one
 * of another pod in the log directory; where fs.protected_hardlinks is off also to one that it may not read itself.
 */
function checkNames(links: number): void {
  if (links > 1) throw new KubeletError('forbidden', 'HardLink', 'it has several names');
}

/** `<root>/pods/<uid>/containers/<name>/<file>`: `<root>/pods` is the administrator's and may be a link, nothing below it. */
async function checkPlace(path: string, real: string): Promise<void> {
  const opened = real.replace(/ \(deleted\)$/, '');
  if (opened === path) return;
  const podsDir = dirname(dirname(dirname(dirname(path))));
  if (opened === join(await realpath(podsDir), path.slice(podsDir.length))) return;
  throw new KubeletError('forbidden', 'LinkLeadsOut', `${basename(path)} is reached through a link`);
}
