// The volume capability of a request: how the volume is accessed, and by which access mode. Pure.
// Upstream: asCSIAccessModeV1 and its variant for SINGLE_NODE_MULTI_WRITER in csi_client.go.
import {
  VolumeCapability_AccessMode_Mode as Mode,
  type VolumeCapability,
} from '../../api/csi/generated/csi/v1/csi.ts';
import type { CsiCapabilities } from '../../api/ports/csi.ts';
import type { CsiVolume } from './csi-volume.ts';

type AccessMode = (typeof Mode)[keyof typeof Mode];

const modes: ReadonlyMap<string, AccessMode> = new Map([
  ['ReadWriteOnce', Mode.SINGLE_NODE_WRITER],
  ['ReadOnlyMany', Mode.MULTI_NODE_READER_ONLY],
  ['ReadWriteMany', Mode.MULTI_NODE_MULTI_WRITER],
  ['ReadWriteOncePod', Mode.SINGLE_NODE_WRITER],
]);

/** Of drivers that distinguish one writing pod from several on a node. */
const singleNodeModes: ReadonlyMap<string, AccessMode> = new Map([
  ...modes,
  ['ReadWriteOnce', Mode.SINGLE_NODE_MULTI_WRITER],
  ['ReadWriteOncePod', Mode.SINGLE_NODE_SINGLE_WRITER],
]);

export function computeAccessMode(
  accessModes: readonly string[],
  { singleNodeMultiWriter }: Pick<CsiCapabilities, 'singleNodeMultiWriter'>,
): AccessMode {
  const [first = 'ReadWriteOnce'] = accessModes;
  return (singleNodeMultiWriter ? singleNodeModes : modes).get(first) ?? Mode.UNKNOWN;
}

interface MountAccess {
  readonly isBlock: false;
  readonly mountFlags: readonly string[];
  /** For drivers that apply it themselves. */
  readonly fsGroup: number | undefined;
}

export function computeCapability(
  volume: Pick<CsiVolume, 'accessModes' | 'fsType'>,
  capabilities: CsiCapabilities,
  access: MountAccess | { readonly isBlock: true },
): VolumeCapability {
  const accessMode = { mode: computeAccessMode(volume.accessModes, capabilities) };
  if (access.isBlock) return { block: {}, accessMode };
  const { fsGroup, mountFlags } = access;
  const volumeMountGroup = capabilities.volumeMountGroup && fsGroup !== undefined ? String(fsGroup) : '';
  return { mount: { fsType: volume.fsType, mountFlags: [...mountFlags], volumeMountGroup }, accessMode };
}
