// What a failed expansion means for the volume, and the events of expansions in upstream's words. Pure.
// Upstream: IsOperationFinishedError and its like in pkg/volume/util/types, the events of the operation generator.
import type { ObjectReference, PersistentVolumeClaim, Pod } from '../../api/k8s/types.ts';
import type { EventText } from '../../api/ports/events.ts';
import { describeError, isAbort, KubeletError } from '../../base/errors.ts';
import type { ExpandFailure, VolumeSpec } from '../plugin.ts';

const failures: ReadonlySet<unknown> = new Set<ExpandFailure>([
  'infeasible',
  'precondition',
  'unsupported',
  'final',
  'uncertain',
]);
const deepestCause = 16;

// differs from upstream: errors are unwrapped, so that an expansion that timed out counts as uncertain, not as failed.
/** The outermost error of the chain that states it decides. Without one, only a timeout or an absent driver is uncertain. */
export function expandFailureOf(err: unknown): ExpandFailure {
  let isUncertain = false;
  let current = err;
  for (let depth = 0; depth < deepestCause && current instanceof Error; depth++) {
    if (current instanceof KubeletError) {
      const { expansion } = current.details;
      if (failures.has(expansion)) return expansion as ExpandFailure;
      isUncertain ||= current.kind === 'timeout' || current.kind === 'unavailable';
    }
    isUncertain ||= isAbort(current);
    current = current.cause;
  }
  return isUncertain ? 'uncertain' : 'final';
}

/** As the failure of a mount: an error and the event that reports it. */
export interface ExpansionFailure {
  readonly failure: KubeletError;
  readonly event: { readonly reason: string; readonly message: string };
}

type Named = Pick<VolumeSpec, 'directoryName' | 'isBlock'>;

/** The failure of a mount whose volume could not be expanded. */
export function setUpExpansionFailure({ directoryName, isBlock }: Named, err: unknown): ExpansionFailure {
  const step = isBlock ? 'MapVolume.MarkVolumeAsMounted failed' : 'MountVolume.Setup failed';
  const message = `${step} while expanding volume for volume "${directoryName}" : ${describeError(err)}`;
  return reported(isBlock ? 'FailedMapVolume' : 'FailedMount', message, err);
}

/** The failure to expand a volume that containers use. */
export function mountedExpansionFailure({ directoryName }: Named, err: unknown): ExpansionFailure {
  const step = 'NodeExpandVolume.NodeExpandVolume failed';
  const message = `${step} for volume "${directoryName}" : ${describeError(err)}`;
  return reported('VolumeResizeFailed', message, err);
}

function reported(reason: string, message: string, err: unknown): ExpansionFailure {
  const kind = err instanceof KubeletError ? err.kind : 'internal';
  return { failure: new KubeletError(kind, reason, message, { cause: err }), event: { reason, message } };
}

export function succeededEvent({ directoryName }: Named, pod: Pod): EventText {
  const node = pod.spec?.nodeName ?? '';
  const message = `MountVolume.NodeExpandVolume succeeded for volume "${directoryName}" ${node}`;
  return { type: 'Normal', reason: 'FileSystemResizeSuccessful', message };
}

export function readOnlyEvent({ directoryName }: Named): EventText {
  const message = `MountVolume.NodeExpandVolume failed for volume "${directoryName}" requested read-only file system`;
  return { type: 'Warning', reason: 'FileSystemResizeFailed', message };
}

export function claimReference({ metadata = {} }: PersistentVolumeClaim): ObjectReference {
  const { name, namespace, resourceVersion, uid } = metadata;
  return {
    kind: 'PersistentVolumeClaim',
    apiVersion: 'v1',
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
}
