// The lock file that only one kubelet at a time holds. Upstream: pkg/util/flock and watchForLockfileContention.
// Invariants: the lock is held from acquire until close() or the end of the process, also if it is killed; an aborted acquire
// leaves no descriptor open; no contention is reported after close().
import { close, constants, open } from 'node:fs';
import { stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { Clock } from '../../base/clock.ts';
import { inotifyMasks } from '../syscalls/inotify.ts';
import { loadSyscalls } from '../syscalls/syscalls.ts';
import { hostError } from '../syscalls/syscalls-errors.ts';

// A numeric descriptor: an unreferenced FileHandle is closed by the garbage collector, which would release the lock.
const openFile = promisify(open);
const closeFile = promisify(close);

export interface HeldLock {
  /** Releases the lock. */
  close(): void;
}

interface AcquireOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called once, if another process holds the lock. */
  readonly onWait?: () => void;
}

/** Interval between attempts to acquire the lock. */
const retryMs = 100;

/** Creates the file if it does not exist, and waits for the lock. */
export async function acquireLockFile(path: string, options: AcquireOptions): Promise<HeldLock> {
  const { clock, signal, onWait } = options;
  const syscalls = await loadSyscalls();
  const fd = await openFile(path, constants.O_CREAT | constants.O_RDWR, 0o600).catch((err: unknown) => {
    throw hostError(err, `cannot open lock file ${path}`, { path });
  });
  try {
    signal.throwIfAborted();
    for (let tries = 1; !syscalls.tryLock(fd); tries++) {
      if (tries === 1) onWait?.();
      // A blocking flock would occupy a thread of Node's pool and keep the process from exiting.
      await clock.sleep(retryMs, signal);
    }
  } catch (err) {
    await closeFile(fd);
    throw err;
  }
  let held = true;
  return {
    close() {
      if (held) close(fd);
      held = false;
    },
  };
}

export type Contention = 'opened' | 'deleted' | 'moved';

/** Reports once that another process wants the lock file: opened, deleted or moved it. */
export async function watchLockFile(
  path: string,
  onContention: (contention: Contention) => void,
): Promise<{ close(): void }> {
  const syscalls = await loadSyscalls();
  const inode = await inodeAt(path);
  let closed = false;
  const report = (contention: Contention): void => {
    if (closed) return;
    watch.close();
    onContention(contention);
  };
  const checkInode = async (): Promise<void> => {
    if ((await inodeAt(path)) !== inode) report('deleted');
  };
  const onEvent = (mask: number): void => {
    const contention = contentionOf(mask);
    if (contention !== undefined) report(contention);
    // differs from upstream: the deletion is noticed although the lock holder has the file open. The kernel then sends no
    // delete event, only a change of attributes (the number of links).
    else if (mask & attributes) void checkInode();
  };
  const events = syscalls.watchEvents(path, watchedEvents, onEvent);
  const watch = {
    close(): void {
      closed = true;
      events.close();
    },
  };
  return watch;
}

const { attributes, deleteSelf, ignored, moveSelf, open: opened } = inotifyMasks;
const watchedEvents = attributes | deleteSelf | moveSelf | opened;

function contentionOf(mask: number): Contention | undefined {
  if (mask & opened) return 'opened';
  if (mask & moveSelf) return 'moved';
  return mask & (deleteSelf | ignored) ? 'deleted' : undefined;
}

/** Undefined if the file does not exist or cannot be inspected. Does not open the file, which would count as contention. */
async function inodeAt(path: string): Promise<bigint | undefined> {
  return stat(path, { bigint: true }).then(
    ({ ino }) => ino,
    () => undefined,
  );
}
