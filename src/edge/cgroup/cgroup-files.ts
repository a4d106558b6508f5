// Reads and writes single files of a cgroup. Invariant: every error names the file, the value written and the errno.
import { KubeletError } from '../../base/errors.ts';
import { readKernelValue, writeKernelFile } from '../files/small-files.ts';
import { errorCode, hostError } from '../syscalls/syscalls-errors.ts';

/** Reads a short file in one read: values and lists, not cgroup.procs. */
export async function readCgroupFile(path: string): Promise<string> {
  try {
    return (await readKernelValue(path)).trim();
  } catch (err) {
    throw hostError(err, `cannot read ${path}`);
  }
}

export async function writeCgroupFile(path: string, value: string): Promise<void> {
  try {
    // Without O_CREAT: a missing file means a missing controller.
    await writeKernelFile(path, value);
  } catch (err) {
    throw hostError(err, `cannot write ${JSON.stringify(value)} to ${path}`, { value });
  }
}

/** The limit on reserved huge pages, which Linux has since 5.7 beside the limit on used ones. */
const reservation = /\.rsvd\.[a-z_]+$/;

/** As `writeCgroupFile`, but skips a reservation limit that the kernel does not support. */
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

/** Whether the cgroup or file disappeared while it was read or removed. */
export function isGone(err: unknown): boolean {
  const code =
    err instanceof KubeletError && ['ENOENT', 'ENODEV'].includes(err.reason) ? err.reason : errorCode(err);
  return code === 'ENOENT' || code === 'ENODEV';
}
