// What a pod's worker hears when volumes could not be mounted: upstream's words, all of them named. Pure.
// Upstream: WaitForAttachAndMount in pkg/kubelet/volumemanager.
import { describeError, KubeletError } from '../base/errors.ts';

interface VolumeFailure {
  readonly name: string;
  readonly err: unknown;
}

export function mountFailure(failures: readonly VolumeFailure[]): KubeletError {
  const texts = failures.map(({ err }) => describeError(err)).join(', ');
  const [first] = failures;
  const kind = first?.err instanceof KubeletError ? first.err.kind : 'internal';
  const unprocessed = failures.filter(({ err }) => isUnresolved(err));
  const message = `unmounted volumes=${named(failures)}, unattached volumes=[], failed to process volumes=${named(unprocessed)}: ${texts}`;
  return new KubeletError(kind, 'FailedMount', message, { cause: first?.err });
}

/** The failure of a volume of which it could not be found out what it is. */
export function unresolved(err: unknown): KubeletError {
  const kind = err instanceof KubeletError ? err.kind : 'internal';
  return new KubeletError(kind, 'FailedMount', describeError(err), { details: { unresolved: true } });
}

function isUnresolved(err: unknown): boolean {
  return err instanceof KubeletError && err.details['unresolved'] === true;
}

function named(failures: readonly VolumeFailure[]): string {
  return `[${failures.map(({ name }) => name).join(' ')}]`;
}
