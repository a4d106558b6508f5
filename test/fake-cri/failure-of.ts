// The error of a call that is expected to fail.
import { KubeletError } from '../../src/base/errors.ts';

/** The KubeletError that a promise rejects with; any other outcome fails the test. */
export async function failureOf(promise: Promise<unknown>): Promise<KubeletError> {
  const outcome = await promise.then(
    (value) => new Error(`expected a failure, got ${JSON.stringify(value)}`),
    (err: unknown) => err,
  );
  if (outcome instanceof KubeletError) return outcome;
  throw outcome;
}
