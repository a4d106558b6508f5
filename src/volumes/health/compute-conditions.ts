// The conditions that a driver reports, in the form that the API server accepts. Pure.
// Invariant: one condition per identity, at most 16; a reason is a valid reason, a text has at most the API's length. The API
// server would reject the whole status of a pod, or of CSINode, for one that is not.
// Upstream: mapVolumeHealthConditions and mapStorageBackendHealth in pkg/volume/csi/csi_client.go, which pass texts on as they are.
import {
  VolumeCapability_AccessMode_Mode as Mode,
  type NodeGetStorageHealthResponse,
  type NodeGetVolumeHealthResponse,
  StorageHealthErrorType as Storage,
  VolumeHealthErrorType as Volume,
  type VolumeCapability,
} from '../../api/csi/generated/csi/v1/csi.ts';
import type { StorageHealthCondition, VolumeHealthCondition } from '../../api/k8s/types.ts';
import { KubeletError } from '../../base/errors.ts';

const mostConditions = 16;
const reasonBytes = 256;
const messageBytes = 1_024;

/** Replaces a reason that the API server would reject. */
const invalidReason = 'InvalidReason';

/** A status that is not listed is one of a later version of CSI, and dropped. */
const volumeStatuses: ReadonlyMap<number, string> = new Map([
  [Volume.INACCESSIBLE, 'Inaccessible'],
  [Volume.DATA_LOSS, 'DataLoss'],
  [Volume.DEGRADED, 'Degraded'],
]);

const storageStatuses: ReadonlyMap<number, string> = new Map([
  [Storage.STORAGE_UNREACHABLE, 'StorageUnreachable'],
  [Storage.STORAGE_DEGRADED, 'StorageDegraded'],
]);

const accessModes: ReadonlyMap<number, string> = new Map([
  [Mode.SINGLE_NODE_WRITER, 'ReadWriteOnce'],
  [Mode.SINGLE_NODE_READER_ONLY, 'ReadWriteOnce'],
  [Mode.SINGLE_NODE_MULTI_WRITER, 'ReadWriteOnce'],
  [Mode.SINGLE_NODE_SINGLE_WRITER, 'ReadWriteOncePod'],
  [Mode.MULTI_NODE_READER_ONLY, 'ReadOnlyMany'],
  [Mode.MULTI_NODE_SINGLE_WRITER, 'ReadWriteMany'],
  [Mode.MULTI_NODE_MULTI_WRITER, 'ReadWriteMany'],
]);

const modeNames: ReadonlyMap<number, string> = new Map(
  Object.entries(Mode).map(([name, value]) => [value as number, name]),
);

/** Empty: the volume is healthy. Of more than 16 conditions the first are kept. */
export function computeVolumeConditions({
  volumeHealth,
}: NodeGetVolumeHealthResponse): readonly VolumeHealthCondition[] {
  const conditions = (volumeHealth?.healthStatuses ?? []).flatMap((entry) => {
    const status = volumeStatuses.get(entry.status);
    return status === undefined ? [] : [{ status, ...textsOf(entry) }];
  });
  const distinct = new Map<string, VolumeHealthCondition>();
  for (const each of conditions) {
    const identity = `${each.status} ${each.reason}`;
    if (!distinct.has(identity)) distinct.set(identity, each);
  }
  return [...distinct.values()].slice(0, mostConditions);
}

/** Empty: the storage is healthy. Throws on what upstream rejects. */
export function computeStorageConditions({
  backendHealth,
}: NodeGetStorageHealthResponse): readonly StorageHealthCondition[] {
  const count = backendHealth.length;
  if (count > mostConditions)
    refuse(`NodeGetStorageHealth returned ${count} conditions, maximum is ${mostConditions}`);
  return backendHealth.flatMap((entry, at): StorageHealthCondition[] => {
    const status = storageStatuses.get(entry.status);
    if (status === undefined) return [];
    const { volumeCapability } = entry;
    const where = volumeCapability === undefined ? {} : modesOf(volumeCapability, at);
    return [{ status, ...textsOf(entry), ...where }];
  });
}

function modesOf(
  { accessMode, block, mount }: VolumeCapability,
  at: number,
): Pick<StorageHealthCondition, 'accessMode' | 'volumeMode'> {
  const bad = (why: string): never =>
    refuse(`NodeGetStorageHealth condition ${at} has invalid volume capability: ${why}`);
  if (block === undefined && mount === undefined) return bad('access type is required');
  if (accessMode === undefined) return bad('access mode is required');
  const { mode } = accessMode;
  const name = accessModes.get(mode) ?? bad(`unsupported access mode "${modeNames.get(mode) ?? mode}"`);
  return { accessMode: name, volumeMode: block === undefined ? 'Filesystem' : 'Block' };
}

function textsOf({ message, reason }: { readonly message: string; readonly reason: string }): {
  readonly reason: string;
  readonly message?: string;
} {
  const text = cutBytes(message, messageBytes);
  return {
    reason: isReason(reason) ? reason : invalidReason,
    ...(text === '' ? {} : { message: text }),
  };
}

const reasonForm = /^[A-Za-z][A-Za-z0-9_,:]*$/;

/** A reason has ASCII letters only, so that its length is that of its bytes. */
function isReason(text: string): boolean {
  return text.length <= reasonBytes && reasonForm.test(text) && !/[,:]$/.test(text);
}

/** Truncates to at most `bytes` bytes of UTF-8 at a character boundary. */
function cutBytes(text: string, bytes: number): string {
  // A UTF-16 unit takes at most three bytes in UTF-8, so short texts need no encoding.
  if (text.length * 3 <= bytes) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytes));
  return text.slice(0, read);
}

function refuse(why: string): never {
  throw new KubeletError('invalid', 'InvalidHealth', why);
}
