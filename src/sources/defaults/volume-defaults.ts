// Defaults of one volume. Mutates its argument, which is a copy of the caller's. The pull policy of an image volume is not
// defaulted while the gate ImageVolume is off, its default: the UID of a static pod would change.
// Upstream: pkg/apis/core/v1 (SetDefaults_Volume and the volume sources).
import type { DownwardAPIVolumeFile, Volume } from '../../api/k8s/types.ts';

const fileMode = 0o644;
const tokenSeconds = 3600;

export function defaultVolume(volume: Volume): void {
  if (Object.entries(volume).every(([key, source]) => key === 'name' || source === undefined))
    volume.emptyDir = {};
  if (volume.hostPath !== undefined) volume.hostPath.type ??= '';
  if (volume.secret !== undefined) volume.secret.defaultMode ??= fileMode;
  if (volume.configMap !== undefined) volume.configMap.defaultMode ??= fileMode;
  if (volume.downwardAPI !== undefined) {
    volume.downwardAPI.defaultMode ??= fileMode;
    defaultFieldRefs(volume.downwardAPI.items);
  }
  defaultProjected(volume);
  defaultNetworkVolumes(volume);
  const claim = volume.ephemeral?.volumeClaimTemplate?.spec;
  if (claim !== undefined) claim.volumeMode ??= 'Filesystem';
}

function defaultFieldRefs(items: readonly DownwardAPIVolumeFile[] | undefined): void {
  for (const item of items ?? []) if (item.fieldRef !== undefined) item.fieldRef.apiVersion ||= 'v1';
}

function defaultProjected(volume: Volume): void {
  if (volume.projected === undefined) return;
  volume.projected.defaultMode ??= fileMode;
  for (const source of volume.projected.sources ?? []) {
    defaultFieldRefs(source.downwardAPI?.items);
    if (source.serviceAccountToken !== undefined)
      source.serviceAccountToken.expirationSeconds ??= tokenSeconds;
  }
}

function defaultNetworkVolumes({ iscsi, rbd, azureDisk, scaleIO }: Volume): void {
  if (iscsi !== undefined) iscsi.iscsiInterface ||= 'default';
  if (rbd !== undefined) {
    rbd.pool ||= 'rbd';
    rbd.user ||= 'admin';
    rbd.keyring ||= '/etc/ceph/keyring';
  }
  if (azureDisk !== undefined) {
    azureDisk.cachingMode ??= 'ReadWrite';
    azureDisk.fsType ??= 'ext4';
    azureDisk.readOnly ??= false;
    azureDisk.kind ??= 'Shared';
  }
  if (scaleIO !== undefined) {
    scaleIO.storageMode ||= 'ThinProvisioned';
    scaleIO.fsType ||= 'xfs';
  }
}
