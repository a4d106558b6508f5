// What the CSI specification demands of each request, as far as the request alone shows it. Pure.
import {
  type CapacityRange,
  VolumeCapability_AccessMode_Mode as Mode,
  type VolumeCapability,
} from '../../src/api/csi/generated/csi/v1/csi.ts';
import type { Code } from './grpc.ts';
import { type CapabilityName, type VolumeKind, volumeKinds } from './options.ts';

export interface Fault {
  readonly code: Code;
  readonly message: string;
}

const invalid = (message: string): Fault => ({ code: 'INVALID_ARGUMENT', message });

interface Fields {
  readonly volumeId: string;
  readonly stagingTargetPath?: string;
  readonly targetPath?: string;
  readonly volumePath?: string;
}

const fieldNames = {
  volumeId: 'volume_id',
  stagingTargetPath: 'staging_target_path',
  targetPath: 'target_path',
  volumePath: 'volume_path',
} as const;

/** A required field that is empty, or a path that is not absolute. */
export function computeFieldFault(
  request: Fields,
  required: readonly (keyof typeof fieldNames)[],
): Fault | undefined {
  for (const field of required) {
    const value = request[field] ?? '';
    if (value === '') return invalid(`${fieldNames[field]} is missing in the request`);
    if (field !== 'volumeId' && !value.startsWith('/'))
      return invalid(`${fieldNames[field]} "${value}" is not an absolute path`);
  }
  return undefined;
}

const newModes: ReadonlySet<number> = new Set([
  Mode.SINGLE_NODE_SINGLE_WRITER,
  Mode.SINGLE_NODE_MULTI_WRITER,
]);

/** A capability that is missing, or that the volume or driver does not support. */
export function computeCapabilityFault(
  capability: VolumeCapability | undefined,
  kind: VolumeKind,
  supported: ReadonlySet<CapabilityName>,
): Fault | undefined {
  if (capability === undefined) return invalid('volume_capability is missing in the request');
  const { block, mount, accessMode } = capability;
  if ((block === undefined) === (mount === undefined))
    return invalid('volume_capability must have one access type');
  if ((block !== undefined) !== (kind === 'block'))
    return invalid(`access type ${block ? 'block' : 'mount'} is not supported by a volume of kind ${kind}`);
  const mode = accessMode?.mode ?? Mode.UNKNOWN;
  if (mode <= Mode.UNKNOWN) return invalid('access_mode is missing or unknown');
  if (newModes.has(mode) && !supported.has('single-node-multi-writer'))
    return invalid(`access_mode ${mode} needs the capability SINGLE_NODE_MULTI_WRITER`);
  if (kind === 'ext4' && !['', 'ext4'].includes(mount?.fsType ?? ''))
    return invalid(`fs_type ${mount?.fsType} is not supported`);
  if ((mount?.volumeMountGroup ?? '') !== '' && !supported.has('volume-mount-group'))
    return invalid('volume_mount_group is not supported');
  return undefined;
}

/** A required size beyond the limits. */
export function computeRangeFault(range: CapacityRange | undefined, maxBytes: number): Fault | undefined {
  const { requiredBytes = 0n, limitBytes = 0n } = range ?? {};
  if (requiredBytes < 0n || limitBytes < 0n) return invalid('capacity_range is negative');
  if (limitBytes > 0n && requiredBytes > limitBytes)
    return {
      code: 'OUT_OF_RANGE',
      message: `required_bytes ${requiredBytes} exceed limit_bytes ${limitBytes}`,
    };
  if (requiredBytes > BigInt(maxBytes))
    return { code: 'OUT_OF_RANGE', message: `required_bytes ${requiredBytes} exceed ${maxBytes}` };
  return undefined;
}

/** The kind of a new volume: of its context, else of its handle, else the driver's. */
export function computeKind(
  handle: string,
  context: Readonly<Record<string, string>>,
  usual: VolumeKind,
): VolumeKind {
  return (
    volumeKinds.find((kind) => kind === context['kind']) ??
    volumeKinds.find((kind) => handle.startsWith(`${kind}-`)) ??
    usual
  );
}

/** Volumes with such a handle do not exist. */
export function isMissing(handle: string): boolean {
  return handle.startsWith('missing-');
}
