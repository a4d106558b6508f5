// Why a volume is not attached, from its VolumeAttachment. Pure. Upstream: verifyAttachmentStatus and WaitForAttach of the csi
// attacher; isVolumeAttachmentLimitExceeded in pkg/kubelet/volumemanager.
import type { CSIDriver, VolumeAttachment } from '../../api/k8s/types.ts';
import type { AttachFailure } from '../plugin.ts';

/** Of gRPC, as the attacher reports it in the VolumeAttachment. */
const resourceExhausted = 8;

export function computeAttachFailure(
  { metadata, status }: VolumeAttachment,
  { handle, name }: { readonly handle: string; readonly name: string },
  driver: CSIDriver | undefined,
): AttachFailure | undefined {
  if (metadata?.deletionTimestamp !== undefined)
    return { message: 'volume attachment is being deleted', isLimit: false };
  if (status?.attached === true) return undefined;
  const { attachError } = status ?? {};
  if (attachError === undefined)
    return { message: `volume ${handle} is not attached for volume attachment ${name}`, isLimit: false };
  // Without the period the number of volumes in CSINode is not corrected, so that the scheduler would choose this node again.
  const isCorrected = driver?.spec.nodeAllocatableUpdatePeriodSeconds !== undefined;
  const isLimit = isCorrected && attachError.errorCode === resourceExhausted;
  return { message: attachError.message ?? '', isLimit };
}
