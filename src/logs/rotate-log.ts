// Rotates one log, and tidies and compresses the files of earlier rotations. Upstream: rotateLog, compressLog and rotateLatestLog
// in pkg/kubelet/logs.
// Invariants: a line is in exactly one file that a reader finds, whatever step fails or whenever the kubelet is killed: the runtime
// writes to the renamed file until it has reopened the log; a compressed file gets its name only when it is complete, and only
// then the original is deleted. Nothing overwrites the current file.
// differs from upstream: there older files are compressed before the rotation, so that a full disk prevents it; and the rename back
// after a failed reopen overwrites the new file if the runtime had created one.
import type { CriRuntime } from '../api/cri/runtime.ts';
import type { Clock } from '../base/clock.ts';
import { isKind, KubeletError } from '../base/errors.ts';
import { computeRotation, computeUpkeep } from './plan-rotation.ts';
import type { LogDirectory, RotationHost } from './rotation-host.ts';
import type { TrackedLog } from './tracked-log.ts';

export interface RotateDeps {
  readonly cri: Pick<CriRuntime, 'reopenContainerLog'>;
  readonly host: Pick<RotationHost, 'openDirectory'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly settings: { readonly maxFiles: number };
  /** A file could not be removed. The rotation continues. */
  readonly onRemoveFailed: (log: TrackedLog, name: string, err: unknown) => void;
}

const reopenTimeoutMs = 10_000;

/** `signal`: of the kubelet. A rotation that has begun is finished or undone even if the container exits meanwhile. */
export async function rotateLog(deps: RotateDeps, log: TrackedLog, signal: AbortSignal): Promise<void> {
  await inDirectory(deps, log, async (directory) => {
    const plan = computeRotation(await folder(deps, log, directory));
    if (!log.isRunning) return;
    await directory.move(log.fileName, plan.renameTo);
    try {
      await reopenLog(deps, log, signal);
    } catch (err) {
      await directory.moveBack(plan.renameTo, log.fileName);
      throw err;
    } finally {
      // Last, since it takes longer than all the rest, while the container writes. A retry needs the space as well.
      await removeAll(deps, log, directory, plan.remove);
    }
  });
}

export async function reopenLog(
  { cri }: Pick<RotateDeps, 'cri'>,
  log: TrackedLog,
  signal: AbortSignal,
): Promise<void> {
  await cri.reopenContainerLog({ containerId: log.container.id }, { signal, timeoutMs: reopenTimeoutMs });
}

/** Removes leftovers and compresses what is due. Resolves to when it is needed again, if it is. */
export async function tidyLog(
  deps: RotateDeps,
  log: TrackedLog,
  signal: AbortSignal,
): Promise<number | undefined> {
  for (;;) {
    const next = await inDirectory(deps, log, async (directory) => {
      const plan = computeUpkeep(await folder(deps, log, directory));
      await removeAll(deps, log, directory, plan.remove);
      return plan;
    });
    if (next?.compress === undefined || !log.isRunning) return next?.againInMs;
    const name = next.compress;
    await log.compress(name, () => compressRotated(deps, log, name, AbortSignal.any([signal, log.ended])));
  }
}

/** Rotations continue during the compression: only its end is exclusive. */
async function compressRotated(
  deps: RotateDeps,
  log: TrackedLog,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const directory = await deps.host.openDirectory(log.container.path);
  if (directory === undefined) return;
  const temporary = `${name}.tmp`;
  try {
    const before = await entryOf(directory, name);
    if (before === undefined) return;
    await directory.compress(name, temporary, signal);
    await log.exclusively(async () => {
      const after = await entryOf(directory, name);
      // Deleted by a rotation or with its container, or written to after all: it is compressed again then.
      const isSame = after?.identity === before.identity && after.changedAtMs === before.changedAtMs;
      if (!isSame || signal.aborted) {
        await directory.remove(temporary);
        return;
      }
      await directory.move(temporary, `${name}.gz`);
      await directory.remove(name);
    });
  } catch (err) {
    if (!isKind(err, 'not-found')) throw err;
  } finally {
    directory.close();
  }
}

async function entryOf(directory: LogDirectory, name: string) {
  return (await directory.list()).find((each) => each.name === name);
}

async function folder({ clock, settings }: RotateDeps, log: TrackedLog, directory: LogDirectory) {
  const { compressing, fileName: live } = log;
  return {
    live,
    entries: await directory.list(),
    maxFiles: settings.maxFiles,
    nowMs: clock.now(),
    compressing,
  };
}

async function inDirectory<T>(
  { host }: Pick<RotateDeps, 'host'>,
  log: TrackedLog,
  act: (directory: LogDirectory) => Promise<T>,
): Promise<T | undefined> {
  return await log.exclusively(async () => {
    const directory = await host.openDirectory(log.container.path);
    if (directory === undefined) return undefined;
    try {
      return await act(directory);
    } finally {
      directory.close();
    }
  });
}

/** The rotation matters more than a file that cannot be removed. */
async function removeAll(
  { onRemoveFailed }: RotateDeps,
  log: TrackedLog,
  directory: LogDirectory,
  names: readonly string[],
): Promise<void> {
  for (const name of names) {
    if (name === log.fileName)
      throw new KubeletError('internal', 'CurrentLog', 'refusing to remove the current log');
    await directory.remove(name).catch((err: unknown) => onRemoveFailed(log, name, err));
  }
}
