// Reads and writes single files of a control group. Invariant: every failure names the file, what was written, and the errno.
import { KubeletError } from '../../base/errors.ts';
import { readKernelValue, writeKernelFile } from '../files/small-files.ts';
import { errorCode, hostError } from '../syscalls/syscalls-errors.ts';

/** Of a short file, which one read gives whole: values and lists, not the processes in it. */
export async function readCgroupFile(path: string): Promise<string> {
  try {
    return (await readKernelValue(path)).trim();
  } catch (err) {
    throw hostError(err, `cannot read ${path}`);
  }
}

export async function writeCgroupFile(path: string, value: string): Promise<void> {
  try {
    // Without O_CREAT: a file that is not there is a controller that is not there, not a file to be made.
    await writeKernelFile(path, value);
  } catch (err) {
    throw hostError(err, `cannot write ${JSON.stringify(value)} to ${path}`, { value });
  }
}

/** Of huge pages, what is asked for ahead of use: since Linux 5.7, beside the limit of what is used. */
const reservation = /\.rsvd\.[a-z_]+$/;

/** As `writeCgroupFile`; a limit of reservations that the kernel does not know is left out. */
export async function writeLimit(path: string, value: string): Promise<void> {
  try {
    await writeCgroupFile(path, value);
  } catch (err) {
    if (!(reservation.test(path) && isGone(err))) throw err;
  }
}

/** A whole number; `max` is -1. */
export async function readCgroupNumber(path: string): Promise<bigint> {
  const text = await readCgroupFile(path);
  if (text === 'max') return -1n;
  if (!/^-?\d+$/.test(text))
    throw new KubeletError('internal', 'CgroupValue', `${path} holds ${JSON.stringify(text)}, not a number`);
  return BigInt(text);
}

/** What the kernel says when something went away while it was read or removed. */
export function isGone(err: unknown): boolean {
  const code =
    err instanceof KubeletError && ['ENOENT', 'ENODEV'].includes(err.reason) ? err.reason : errorCode(err);
  return code === 'ENOENT' || code === 'ENODEV';
}
