// The API objects of storage that volumes and the registration of CSI drivers need beyond PodObjects. Types only; objects/
// implements them, and a standalone node rejects every request. Upstream: the CSIDriver lister and kubeClient calls of pkg/volume.
// Invariant of an implementation: what is read on every call is never taken from a cache; a stale publish context mounts the
// wrong device.
import type { Subscribable } from '../../base/channel.ts';
import type { JsonObject } from '../k8s/strategic-diff.ts';
import type { CSIDriver, PersistentVolumeClaim, Secret, VolumeAttachment } from '../k8s/types.ts';

export interface StorageObjects {
  /** From the watch; waits, within the signal, for the first list. Undefined if no such object exists. */
  csiDriver(name: string, signal: AbortSignal): Promise<CSIDriver | undefined>;
  /** As the watch knows it now. `unknown` before the first list. */
  knownCsiDriver(name: string): CSIDriver | undefined | 'unknown';
  /** Announces the name of a CSIDriver that was created, changed or deleted; every name after a list. */
  readonly csiDriversChanged: Subscribable<string>;
  /** Read from the API server on every call. */
  volumeAttachment(name: string, signal: AbortSignal): Promise<VolumeAttachment>;
  /** Read from the API server on every call: a secret that a persistent volume or a pod's inline volume names. */
  volumeSecret(namespace: string, name: string, signal: AbortSignal): Promise<Secret>;
  /** A strategic merge patch of the status of a claim. */
  patchClaimStatus(
    namespace: string,
    name: string,
    patch: JsonObject,
    signal: AbortSignal,
  ): Promise<PersistentVolumeClaim>;
}
