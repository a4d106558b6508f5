// Finds the file that continues a file of a log, however often the log was rotated, compressed and cleaned up meanwhile.
// Upstream: none; it continues with the current file.
// Invariant: no existing file between the two is skipped. An open file knows its name, even once it is compressed and deleted, and
// names sort by rotation; a change of the directory in the middle of the search starts it again.
import { parseRotatedLog } from '../../api/pod/rotated-log.ts';
import { firstTime, isAfter } from './first-time.ts';
import type { LogFile, LogFiles, LogTarget, RotatedLog } from './log-files.ts';
import type { Instant } from './timestamp.ts';

export interface Successor {
  readonly file: LogFile;
  /** Whether it is the file that the runtime writes, as far as known. */
  readonly isCurrent: boolean;
}

/** A log that is rotated faster than it is listed is searched again later. */
const maxAttempts = 10;

/** Undefined while `own` is the current file. `lastTime`: of the last line read from it, if any. */
export async function findSuccessor(
  files: LogFiles,
  target: LogTarget,
  own: LogFile,
  lastTime: Instant | undefined,
): Promise<Successor | undefined> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    if ((await files.identity(target.path)) === own.identity) return undefined;
    const rotation = rotationOf(target.path, await own.name());
    const found =
      rotation === undefined
        ? await byTime(files, target, own, lastTime)
        : await byName(files, target, own, rotation);
    if (found !== 'changed') return found;
  }
  return undefined;
}

/** The rotation that a file of the log at `path` belongs to; undefined for the current file. */
export function rotationOf(path: string, name: string): string | undefined {
  return parseRotatedLog(baseName(path), baseName(name))?.rotation;
}

/** Whether the rotated file comes before the rotation. */
export function isBefore(path: string, rotated: string, rotation: string): boolean {
  return (rotationOf(path, rotated) ?? '') < rotation;
}

/** Opens a file that may have been compressed since it was listed. Undefined if it was deleted. */
export async function openRotated(
  files: LogFiles,
  { path }: RotatedLog,
  containerId: string,
): Promise<LogFile | undefined> {
  const file = await files.open(path, containerId);
  return file ?? (path.endsWith('.gz') ? undefined : await files.open(`${path}.gz`, containerId));
}

async function byName(
  files: LogFiles,
  { containerId, path }: LogTarget,
  own: LogFile,
  rotation: string,
): Promise<Successor | undefined | 'changed'> {
  const later = async (): Promise<readonly RotatedLog[]> =>
    (await files.rotated(path)).filter((each) => (rotationOf(path, each.path) ?? '') > rotation);
  const [next] = await later();
  if (next !== undefined) {
    const file = await openRotated(files, next, containerId);
    return file === undefined ? 'changed' : { file, isCurrent: false };
  }
  const file = await files.open(path, containerId);
  if (file === undefined) return undefined;
  // A rotation since the list may have put another file in between.
  const isNext =
    file.identity !== own.identity && (await later()).every((each) => each.identity === file.identity);
  if (isNext) return { file, isCurrent: true };
  await file.close();
  return 'changed';
}

/** For a file that was not rotated by name, such as a log that another program deleted. */
async function byTime(
  files: LogFiles,
  { containerId, path }: LogTarget,
  own: LogFile,
  lastTime: Instant | undefined,
): Promise<Successor | undefined> {
  for (const candidate of await files.rotated(path)) {
    const file = await openRotated(files, candidate, containerId);
    if (file === undefined) continue;
    const first = await firstTime(file);
    if (first !== undefined && lastTime !== undefined && isAfter(first, lastTime))
      return { file, isCurrent: false };
    await file.close();
  }
  const file = await files.open(path, containerId);
  if (file === undefined || file.identity !== own.identity) return file && { file, isCurrent: true };
  await file.close();
  return undefined;
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
