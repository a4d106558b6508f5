// The names of the API objects that a pod refers to, by resource: its node may read them. Pure.
// Upstream: pkg/api/v1/pod (VisitPodSecretNames, VisitPodConfigmapNames) and the graph of the Node authorizer.
import type { Container, Pod, Volume } from '../k8s/types.ts';
import { allContainers } from './find-container.ts';

type References = Readonly<Record<string, readonly string[]>>;

export function podReferences(pod: Pod): References {
  const spec = pod.spec;
  const containers = allContainers(pod);
  const volumes = spec?.volumes ?? [];
  const secrets = [
    ...(spec?.imagePullSecrets ?? []).map(({ name }) => name),
    ...containers.flatMap(envSecrets),
    ...volumes.flatMap(volumeSecrets),
  ];
  const configMaps = [...containers.flatMap(envConfigMaps), ...volumes.flatMap(volumeConfigMaps)];
  const claims = volumes.flatMap((volume) => {
    if (volume.persistentVolumeClaim !== undefined) return [volume.persistentVolumeClaim.claimName];
    return volume.ephemeral === undefined ? [] : [`${pod.metadata?.name}-${volume.name}`];
  });
  return {
    secrets: present(secrets),
    configmaps: present(configMaps),
    persistentvolumeclaims: claims,
    serviceaccounts: present([spec?.serviceAccountName]),
    resourceclaims: present((spec?.resourceClaims ?? []).map((claim) => claim.resourceClaimName)),
  };
}

function present(names: readonly (string | undefined)[]): readonly string[] {
  return names.filter((name) => name !== undefined && name !== '') as string[];
}

function envSecrets(container: Container): (string | undefined)[] {
  return [
    ...(container.env ?? []).map(({ valueFrom }) => valueFrom?.secretKeyRef?.name),
    ...(container.envFrom ?? []).map(({ secretRef }) => secretRef?.name),
  ];
}

function envConfigMaps(container: Container): (string | undefined)[] {
  return [
    ...(container.env ?? []).map(({ valueFrom }) => valueFrom?.configMapKeyRef?.name),
    ...(container.envFrom ?? []).map(({ configMapRef }) => configMapRef?.name),
  ];
}

function volumeSecrets(volume: Volume): (string | undefined)[] {
  return [
    volume.secret?.secretName,
    ...(volume.projected?.sources ?? []).map(({ secret }) => secret?.name),
    volume.csi?.nodePublishSecretRef?.name,
    volume.iscsi?.secretRef?.name,
    volume.flexVolume?.secretRef?.name,
    volume.azureFile?.secretName,
  ];
}

function volumeConfigMaps(volume: Volume): (string | undefined)[] {
  return [
    volume.configMap?.name,
    ...(volume.projected?.sources ?? []).map(({ configMap }) => configMap?.name),
  ];
}
