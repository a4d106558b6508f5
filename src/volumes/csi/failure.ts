// The errors of CSI volumes: which step failed, and whether the driver may still be working on it. Pure.
// Upstream: IsOperationFinishedError in pkg/volume/util/types, isFinalError in csi_client.go.
import type { CsiOutcome } from '../../api/ports/csi.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import type { SetUpFailureDetails } from '../plugin.ts';
import { csiPluginName } from './names.ts';

/** Undefined: the default step, SetUp or SetUpDevice. */
export type Step = SetUpFailureDetails['step'] | undefined;

const deepestCause = 16;

/**
 * Whether a failed call of a driver may still be in progress. An error without a class, such as an abort, is uncertain: the call was sent.
 */
// differs from upstream: the class is also found in a cause (upstream tests the outermost error only, so that a wrapped timeout
// counts as final).
export function outcomeOf(err: unknown): CsiOutcome {
  let current = err;
  for (let depth = 0; depth < deepestCause && current instanceof Error; depth++) {
    const outcome = current instanceof KubeletError ? current.details['csiOutcome'] : undefined;
    if (outcome === 'final' || outcome === 'uncertain') return outcome;
    current = current.cause;
  }
  return 'uncertain';
}

/** The name of the gRPC code of a failed call; undefined if the error has none. */
export function codeOf(err: unknown): string | undefined {
  let current = err;
  for (let depth = 0; depth < deepestCause && current instanceof Error; depth++) {
    if (current instanceof KubeletError && current.details['csiOutcome'] !== undefined) return current.reason;
    current = current.cause;
  }
  return undefined;
}

/** The same failure with its step, and with a message that begins as upstream's. */
export function failedAt(step: Step, err: unknown, before = ''): KubeletError {
  const isOurs = err instanceof KubeletError;
  const details = { ...(isOurs ? err.details : {}), ...(step === undefined ? {} : { step }) };
  const message = `${before}${describeError(err)}`;
  return new KubeletError(isOurs ? err.kind : 'internal', isOurs ? err.reason : 'FailedMount', message, {
    cause: err,
    details,
  });
}

/** Upstream begins most messages of the plugin with its name. */
export function named(message: string): string {
  return `${csiPluginName}: ${message}`;
}

export function driverMissing(driver: string): KubeletError {
  return new KubeletError(
    'unavailable',
    'FailedMount',
    `driver name ${driver} not found in the list of registered CSI drivers`,
  );
}

export function refuse(message: string): never {
  throw new KubeletError('invalid', 'FailedMount', message);
}
