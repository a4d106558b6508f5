// Attaches a waiting reason to failures.
import { describeError, isAbort, KubeletError } from '../base/errors.ts';

/** Runs `work`; any failure but an abort gets this reason, which becomes the container's waiting reason. */
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
