// Gives a failure the word under which a container's status tells it.
import { describeError, isAbort, KubeletError } from '../base/errors.ts';

/** What fails in here is told under this reason, whatever it was. */
export async function withReason<T>(
  reason: string,
  work: () => Promise<T>,
  details: Record<string, unknown> = {},
): Promise<T> {
  try {
    return await work();
  } catch (err) {
    if (isAbort(err)) throw err;
    const kind = err instanceof KubeletError ? err.kind : 'internal';
    throw new KubeletError(kind, reason, describeError(err), { cause: err, details });
  }
}
