// The errors and events of volumes that could not be mounted, in upstream's words. Pure.
// Upstream: WaitForAttachAndMount in pkg/kubelet/volumemanager, the operation generator's events.
import { describeError, KubeletError } from '../base/errors.ts';
import type { VolumeSpec } from './plugin.ts';
import { nodeAffinity } from './spec/check-persistent.ts';

interface VolumeFailure {
  readonly name: string;
  readonly err: unknown;
}

/** The failure of one volume and the event that reports it. */
export interface ReportedFailure {
  readonly failure: KubeletError;
  readonly event: { readonly reason: string; readonly message: string };
}

/** What the pod's worker gets: one error that names every volume that failed. */
export function mountFailure(failures: readonly VolumeFailure[]): KubeletError {
  const texts = failures.map(({ err }) => describeError(err)).join(', ');
  const [first] = failures;
  const unprocessed = failures.filter(({ err }) => isUnresolved(err));
  const message = `unmounted volumes=${named(failures)}, unattached volumes=[], failed to process volumes=${named(unprocessed)}: ${texts}`;
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
  const isOtherNode = err instanceof KubeletError && err.reason === nodeAffinity;
  const step = isOtherNode ? 'NodeAffinity check' : isBlock ? 'SetUpDevice' : 'SetUp';
  const operation = isBlock ? 'MapVolume' : 'MountVolume';
  const message = `${operation}.${step} failed for volume "${directoryName}" : ${describeError(err)}`;
  const failure = new KubeletError(kindOf(err), 'FailedMount', message, { cause: err });
  return { failure, event: { reason: isBlock ? 'FailedMapVolume' : 'FailedMount', message } };
}

function kindOf(err: unknown): KubeletError['kind'] {
  return err instanceof KubeletError ? err.kind : 'internal';
}

function isUnresolved(err: unknown): boolean {
  return err instanceof KubeletError && err.details['unresolved'] === true;
}

function named(failures: readonly VolumeFailure[]): string {
  return `[${failures.map(({ name }) => name).join(' ')}]`;
}
