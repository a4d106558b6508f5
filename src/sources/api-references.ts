// Finds references of a static pod to API objects, which it may not use because it runs without an API server.
// Upstream: pkg/api/pod (HasAPIObjectReference).
import type { Pod, PodSpec, Volume, VolumeProjection } from '../api/k8s/types.ts';
import { allContainers } from '../api/pod/find-container.ts';

/** The resource of the first API object that the pod refers to. */
function findApiReference(pod: Pod): string | undefined {
  const spec = pod.spec;
  if (spec === undefined) return undefined;
  if (spec.serviceAccountName) return 'serviceaccounts';
  if (refersToSecret(spec)) return 'secrets';
  if (refersToConfigMap(spec)) return 'configmaps';
  if ((spec.resourceClaims ?? []).length > 0) return 'resourceclaims';
  for (const volume of spec.volumes ?? []) {
    const found = volumeReference(volume);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Why a static pod is rejected for its references; undefined if it is not. */
export function referenceFault(pod: Pod): string | undefined {
  const reference = findApiReference(pod);
  return reference === undefined ? undefined : `static pods may not reference ${reference}`;
}

function refersToSecret(spec: PodSpec): boolean {
  if ((spec.imagePullSecrets ?? []).some(isNamed)) return true;
  const byEnv = allContainers({ spec }).some(
    ({ env, envFrom }) =>
      envFrom?.some((from) => isNamed(from.secretRef)) === true ||
      env?.some(({ valueFrom }) => isNamed(valueFrom?.secretKeyRef)) === true,
  );
  return byEnv || (spec.volumes ?? []).some(volumeNeedsSecret);
}

function volumeNeedsSecret(volume: Volume): boolean {
  const { azureFile, cephfs, cinder, csi, flexVolume, iscsi, projected, rbd, scaleIO, secret, storageos } =
    volume;
  if (azureFile?.secretName || secret?.secretName) return true;
  if (projected?.sources?.some((source) => isNamed(source.secret)) === true) return true;
  const refs = [
    cephfs?.secretRef,
    cinder?.secretRef,
    flexVolume?.secretRef,
    rbd?.secretRef,
    scaleIO?.secretRef,
    iscsi?.secretRef,
    storageos?.secretRef,
    csi?.nodePublishSecretRef,
  ];
  return refs.some(isNamed);
}

/** A reference without a name is ignored; validation rejects it where it matters. */
function isNamed(ref: { readonly name?: string } | undefined): boolean {
  return Boolean(ref?.name);
}

function refersToConfigMap(spec: PodSpec): boolean {
  const byEnv = allContainers({ spec }).some(
    ({ env, envFrom }) =>
      envFrom?.some((from) => isNamed(from.configMapRef)) === true ||
      env?.some(({ valueFrom }) => isNamed(valueFrom?.configMapKeyRef)) === true,
  );
  const byVolume = (volume: Volume): boolean =>
    isNamed(volume.configMap) ||
    volume.projected?.sources?.some((source) => isNamed(source.configMap)) === true;
  return byEnv || (spec.volumes ?? []).some(byVolume);
}

function volumeReference(volume: Volume): string | undefined {
  if (volume.configMap !== undefined) return 'configmaps (via configmap volumes)';
  if (volume.secret !== undefined) return 'secrets (via secret volumes)';
  if (volume.csi !== undefined) return 'csidrivers (via CSI volumes)';
  if (volume.glusterfs !== undefined) return 'endpoints (via glusterFS volumes)';
  if (volume.persistentVolumeClaim !== undefined) return 'persistentvolumeclaims';
  if (volume.ephemeral !== undefined) return 'persistentvolumeclaims (via ephemeral volumes)';
  if (volume.azureFile !== undefined) return 'secrets (via azureFile volumes)';
  for (const source of volume.projected?.sources ?? []) {
    const found = projectedReference(source);
    if (found !== undefined) return found;
  }
  return undefined;
}

function projectedReference(source: VolumeProjection): string | undefined {
  if (source.configMap !== undefined) return 'configmaps (via projected volumes)';
  if (source.secret !== undefined) return 'secrets (via projected volumes)';
  if (source.serviceAccountToken !== undefined) return 'serviceaccounts (via projected volumes)';
  if (source.clusterTrustBundle !== undefined) return 'clustertrustbundles';
  return source.podCertificate !== undefined ? 'podcertificates' : undefined;
}
