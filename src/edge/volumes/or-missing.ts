// Treats a missing path as undefined instead of an error.
import { errorCode } from '../syscalls/syscalls-errors.ts';

/** Undefined if the path does not exist. */
export async function orMissing<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (err) {
    if (['ENOENT', 'ENOTDIR'].includes(errorCode(err) ?? '')) return undefined;
    throw err;
  }
}
