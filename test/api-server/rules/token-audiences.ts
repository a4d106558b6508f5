// Which audiences a node may request tokens for: those that a volume of the pod names, and those of the CSI drivers of its volumes.
// Upstream: podReferencesAudience in plugin/pkg/admission/noderestriction.
import type {
  CSIDriver,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Volume,
} from '../../../src/api/k8s/types.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import { resourceOf } from '../objects/resources.ts';

export function podReferencesAudience(store: ObjectStore, pod: Pod, audience: string): boolean {
  return (pod.spec?.volumes ?? []).some((volume) => {
    const sources = volume.projected?.sources ?? [];
    if (sources.some((source) => source.serviceAccountToken?.audience === audience)) return true;
    const name = driverOf(store, pod, volume);
    if (name === undefined) return false;
    const driver = store.get(resourceOf('csidrivers'), '', name) as CSIDriver | undefined;
    return driver?.spec.tokenRequests?.some((request) => request.audience === audience) === true;
  });
}

function driverOf(store: ObjectStore, { metadata }: Pod, volume: Volume): string | undefined {
  if (volume.csi !== undefined) return volume.csi.driver;
  const claimName =
    volume.persistentVolumeClaim?.claimName ??
    (volume.ephemeral === undefined ? undefined : `${metadata?.name}-${volume.name}`);
  if (claimName === undefined) return undefined;
  const claims = resourceOf('persistentvolumeclaims');
  const claim = store.get(claims, metadata?.namespace ?? '', claimName) as PersistentVolumeClaim | undefined;
  const volumes = resourceOf('persistentvolumes');
  const bound = store.get(volumes, '', claim?.spec?.volumeName ?? '') as PersistentVolume | undefined;
  return bound?.spec?.csi?.driver;
}
