// The file that only one kubelet at a time may hold. Upstream: pkg/util/flock and watchForLockfileContention.
// Invariants: the lock is held from acquire until close() or the end of the process, however that comes; giving up
// leaves no descriptor open; nothing is told after close().
import { close, constants, open } from 'node:fs';
import { stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { Clock } from '../../base/clock.ts';
import { inotifyMasks, loadSyscalls } from '../syscalls/syscalls.ts';
import { hostError } from '../syscalls/syscalls-errors.ts';

// A descriptor as a number: a FileHandle that nobody refers to is closed by the garbage collector, and the lock with it.
const openFile = promisify(open);
const closeFile = promisify(close);

export interface HeldLock {
  /** Lets the next one in. */
  close(): void;
}

interface AcquireOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called once, when somebody else has the lock. */
  readonly onWait?: () => void;
}

/** How soon a lock that was let go is noticed. */
const retryMs = 100;

/** Creates the file where needed and waits until the lock is ours. */
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
      // A flock that waits would block a thread of Node's pool, and the process could not exit meanwhile.
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

/** Tells, once, that another process wants the lock file: it opened it, deleted it or moved it away. */
export async function watchLockFile(
  path: string,
  onContention: (what: Contention) => void,
): Promise<{ close(): void }> {
  const syscalls = await loadSyscalls();
  const inode = await inodeAt(path);
  let closed = false;
  const tell = (what: Contention): void => {
    if (closed) return;
    watch.close();
    onContention(what);
  };
  const lookAgain = async (): Promise<void> => {
    if ((await inodeAt(path)) !== inode) tell('deleted');
  };
  const onEvent = (mask: number): void => {
    const what = contentionOf(mask);
    if (what !== undefined) tell(what);
    // differs from upstream: a deleted file lives on, and is not reported as deleted, while the holder of its lock
    // has it open. All there is to see is a change of its attributes, the number of links being one.
    else if (mask & attributes) void lookAgain();
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

/** Undefined when there is no such file, or none that can be looked at. Looking does not open it. */
async function inodeAt(path: string): Promise<bigint | undefined> {
  return stat(path, { bigint: true }).then(
    ({ ino }) => ino,
    () => undefined,
  );
}
