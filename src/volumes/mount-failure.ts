// The errors and events of volumes that could not be mounted, in upstream's words. Pure.
// Upstream: WaitForAttachAndMount in pkg/kubelet/volumemanager, the operation generator's events.
import { describeError, KubeletError } from '../base/errors.ts';
import { podRejected, type SetUpFailureDetails, type VolumeSpec } from './plugin.ts';
import { failedChecks } from './spec/check-persistent.ts';

interface VolumeFailure {
  readonly name: string;
  readonly err: unknown;
}

/** The failure of one volume and the event that reports it, if any. */
export interface ReportedFailure {
  readonly failure: KubeletError;
  readonly event: { readonly reason: string; readonly message: string } | undefined;
}

/** A failure whose text and event are complete. */
export class ReportedError extends Error {
  readonly reported: ReportedFailure;

  constructor(reported: ReportedFailure) {
    super(reported.failure.message);
    this.reported = reported;
  }
}

/** What the pod's worker gets: one error that names every volume that failed. */
export function mountFailure(failures: readonly VolumeFailure[]): KubeletError {
  const texts = failures.map(({ err }) => describeError(err)).join(', ');
  const [first] = failures;
  const unprocessed = failures.filter(({ err }) => isMarked(err, 'unresolved'));
  const unattached = failures.filter(({ err }) => isMarked(err, 'unattached'));
  const message = `unmounted volumes=${named(failures)}, unattached volumes=${named(unattached)}, failed to process volumes=${named(unprocessed)}: ${texts}`;
  return new KubeletError(kindOf(first?.err), 'FailedMount', message, { cause: first?.err });
}

/** A volume whose claim could not be resolved, so that its plugin is unknown. */
export function unresolvedFailure(name: string, err: unknown): ReportedFailure {
  const details = { unresolved: true };
  const failure = new KubeletError(kindOf(err), 'FailedMount', describeError(err), { details });
  const message = `Unable to attach or mount volumes: ${mountFailure([{ name, err: failure }]).message}`;
  return { failure, event: { reason: 'FailedMount', message } };
}

/** A volume that its checks or its plugin refused. */
export function setUpFailure(
  { directoryName, isBlock }: Pick<VolumeSpec, 'directoryName' | 'isBlock'>,
  err: unknown,
): ReportedFailure {
  const check = err instanceof KubeletError ? failedChecks[err.reason] : undefined;
  const step = check ?? stepOf(err) ?? (isBlock ? 'SetUpDevice' : 'SetUp');
  const operation = isBlock ? 'MapVolume' : 'MountVolume';
  const message = `${operation}.${step} failed for volume "${directoryName}" : ${describeError(err)}`;
  const failure = new KubeletError(kindOf(err), 'FailedMount', message, { cause: err });
  return { failure, event: { reason: isBlock ? 'FailedMapVolume' : 'FailedMount', message } };
}

/** A volume that the controller has not attached in time. As upstream, without an event: the controller emits its own. */
export function unattachedFailure(name: string, why: string, isLimit: boolean): ReportedFailure {
  const details = { unattached: true };
  const reason = isLimit ? podRejected : 'FailedMount';
  const message = `timed out waiting for the condition: volume ${name} waits for ${why}`;
  return { failure: new KubeletError('timeout', reason, message, { details }), event: undefined };
}

/** The step that a plugin names in the details of its error. */
function stepOf(err: unknown): SetUpFailureDetails['step'] | undefined {
  if (!(err instanceof KubeletError)) return undefined;
  const { step } = err.details as Partial<SetUpFailureDetails>;
  return step ?? stepOf(err.cause);
}

function kindOf(err: unknown): KubeletError['kind'] {
  return err instanceof KubeletError ? err.kind : 'internal';
}

function isMarked(err: unknown, mark: 'unresolved' | 'unattached'): boolean {
  return err instanceof KubeletError && err.details[mark] === true;
}

function named(failures: readonly VolumeFailure[]): string {
  return `[${failures
    .map(({ name }) => name)
    .sort()
    .join(' ')}]`;
}
