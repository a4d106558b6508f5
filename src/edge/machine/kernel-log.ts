// Follows the kernel log, /dev/kmsg, from its end. Upstream: kmsgparser, which cadvisor's oomparser reads.
// Invariants: the event loop waits for the descriptor, without thread or timer; earlier records are skipped, so that a restart
// does not report them again; one read is one record; a log that becomes unreadable is reported once.
import { close, constants, fstat, open, readSync } from 'node:fs';
import { promisify } from 'node:util';
import { KubeletError } from '../../base/errors.ts';
import { loadSyscalls } from '../syscalls/syscalls.ts';
import { errorCode, hostError } from '../syscalls/syscalls-errors.ts';

export interface KernelLogListener {
  /** The kernel's record: `6,1234,5678,-;text`, then lines that begin with a space. */
  onRecord(record: string): void;
  onError(err: unknown): void;
}

const recordBytes = 8192;
/** Per turn of the event loop, so that a flood of records does not block it. The rest follows in the next turn. */
const maxRecordsPerTurn = 100;
const defaultPath = '/dev/kmsg';
const openFile = promisify(open);
const statFile = promisify(fstat);

export async function followKernelLog(
  listener: KernelLogListener,
  path = defaultPath,
): Promise<{ close(): void }> {
  const syscalls = await loadSyscalls();
  const fd = await openFile(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((err: unknown) => {
    throw hostError(err, `cannot open ${path}`, { path });
  });
  await checkDevice(fd, path).catch((err: unknown) => {
    close(fd);
    throw err;
  });
  let isOpen = true;
  const buffer = Buffer.alloc(recordBytes);
  const stop = (): void => {
    if (!isOpen) return;
    isOpen = false;
    watch.close();
    close(fd);
  };
  const readAll = (): void => {
    for (let count = 0; count < maxRecordsPerTurn; count++) {
      const record = isOpen ? readRecord(fd, buffer) : undefined;
      if (record === undefined) return;
      listener.onRecord(record);
    }
  };
  let watch: { close(): void };
  try {
    syscalls.seekEnd(fd);
    watch = syscalls.whenReadable(fd, () => {
      try {
        readAll();
      } catch (err) {
        stop();
        listener.onError(hostError(err, `cannot read ${path}`, { path }));
      }
    });
  } catch (err) {
    close(fd);
    throw err;
  }
  return { close: stop };
}

/** Major 1, minor 11. On some machines the path is another device that cannot be waited for: the console, or /dev/null. */
const kmsgDevice = 0x10b;

async function checkDevice(fd: number, path: string): Promise<void> {
  const { rdev } = await statFile(fd);
  if (rdev !== kmsgDevice)
    throw new KubeletError('unavailable', 'NoKernelLog', `${path} is not the kernel log`);
}

/** Undefined if there is no further record. Skips records that were overwritten before they were read (EPIPE). */
function readRecord(fd: number, buffer: Buffer): string | undefined {
  for (;;) {
    try {
      const length = readSync(fd, buffer);
      return length === 0 ? undefined : buffer.toString('utf8', 0, length);
    } catch (err) {
      const code = errorCode(err);
      if (code === 'EAGAIN') return undefined;
      if (code !== 'EPIPE') throw err;
    }
  }
}
