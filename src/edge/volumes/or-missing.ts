// A look at something that need not be there.
import { errorCode } from '../syscalls/syscalls-errors.ts';

/** Undefined when nothing is there. */
export async function orMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (err) {
    if (['ENOENT', 'ENOTDIR'].includes(errorCode(err) ?? '')) return undefined;
    throw err;
  }
}
