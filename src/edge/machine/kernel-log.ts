// Follows the kernel's log, /dev/kmsg, from its end on. Upstream: kmsgparser, which cadvisor's oomparser reads.
// Invariants: the event loop waits for the descriptor, without thread or timer; what was logged before is not told, so that
// a restart does not tell it again; one read is one record; when the log cannot be read any more, that is told once.
import { close, constants, fstat, open, readSync } from 'node:fs';
import { promisify } from 'node:util';
import { KubeletError } from '../../base/errors.ts';
import { loadSyscalls } from '../syscalls/syscalls.ts';
import { errorCode, hostError } from '../syscalls/syscalls-errors.ts';

export interface KernelLogListener {
  /** The record as the kernel has it: `6,1234,5678,-;text`, then lines that begin with a blank. */
  onRecord(record: string): void;
  onError(err: unknown): void;
}

const recordBytes = 8192;
/** A flood of records must not hold up everything else: what is left is told of again. */
const recordsAtOnce = 100;
const usualPlace = '/dev/kmsg';
const openFile = promisify(open);
const statFile = promisify(fstat);

export async function followKernelLog(
  listener: KernelLogListener,
  path = usualPlace,
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
    for (let count = 0; count < recordsAtOnce; count++) {
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

/** Major 1, minor 11. On some machines the name leads to something that cannot be waited for: the console, or nothing. */
const kmsgDevice = 0x10b;

async function checkDevice(fd: number, path: string): Promise<void> {
  const { rdev } = await statFile(fd);
  if (rdev !== kmsgDevice)
    throw new KubeletError('unavailable', 'NoKernelLog', `${path} is not the kernel's log`);
}

/** Undefined: nothing more for now. Records that were overwritten before they were read are lost, those after them are not. */
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
