// Rejects pods with fields that this kubelet does not support, instead of running them without. Pure.
// Invariant: a field that would be ignored is named, never skipped. Upstream: the admit handlers (pkg/kubelet/lifecycle).

import { migratedFields, removedFields } from '../api/k8s/migrated-plugins.ts';
import type { Container, Pod, PodSpec, Volume } from '../api/k8s/types.ts';
import { isSidecar } from '../api/pod/restart-policy.ts';

interface Rejection {
  readonly reason: string;
  readonly message: string;
}

type Check<T> = readonly [path: string, isUsed: (value: T) => boolean];

const isSet = (value: unknown): boolean =>
  value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);

const podChecks: readonly Check<PodSpec>[] = [['spec.resourceClaims', (spec) => isSet(spec.resourceClaims)]];

const containerChecks: readonly Check<Container>[] = [
  ['resources.claims', (container) => isSet(container.resources?.claims)],
];

/** Fields that have an effect only with the feature gate ContainerRestartRules, which is off by default. */
const ruleChecks: readonly Check<Container>[] = [
  ['restartPolicyRules', (container) => isSet(container.restartPolicyRules)],
  ['restartPolicy', (container) => isSet(container.restartPolicy)],
];

const volumeSources: ReadonlySet<string> = new Set([
  'emptyDir',
  'hostPath',
  'configMap',
  'secret',
  'downwardAPI',
  'projected',
  'nfs',
  'persistentVolumeClaim',
  'ephemeral',
  'csi',
  'iscsi',
  'fc',
  'flexVolume',
  ...migratedFields,
  // As upstream, these pods are not rejected: their volumes cannot be mounted, and an event reports why.
  'gitRepo',
  ...removedFields,
]);

const projectedSources: ReadonlySet<string> = new Set([
  'configMap',
  'secret',
  'downwardAPI',
  'serviceAccountToken',
  'clusterTrustBundle',
  'podCertificate',
]);

/** Ignores undefined fields, which the decoder may leave. */
function setKeys(value: object): readonly string[] {
  return Object.entries(value).flatMap(([key, each]) => (isSet(each) ? [key] : []));
}

function unknownVolumes(volumes: readonly Volume[], imageVolumes: boolean): readonly string[] {
  return volumes.flatMap((volume, index) => {
    const { name: _, ...source } = volume;
    const kinds = setKeys(source).filter(
      (kind) => !volumeSources.has(kind) && !(kind === 'image' && imageVolumes),
    );
    const projected = (volume.projected?.sources ?? []).flatMap((each, at) =>
      setKeys(each)
        .filter((kind) => !projectedSources.has(kind))
        .map((kind) => `projected.sources[${at}].${kind}`),
    );
    return [...kinds, ...projected].map((path) => `spec.volumes[${index}].${path}`);
  });
}

/** Gates without which certain fields have no effect. */
export interface UnsupportedGates {
  readonly HostnameOverride: boolean;
  readonly ContainerStopSignals: boolean;
  readonly EnvFiles: boolean;
}

const hostnameCheck: Check<PodSpec> = ['spec.hostnameOverride', (spec) => isSet(spec.hostnameOverride)];
const stopSignalCheck: Check<Container> = [
  'lifecycle.stopSignal',
  (container) => isSet(container.lifecycle?.stopSignal),
];
const envFileCheck: Check<Container> = [
  'env[].valueFrom.fileKeyRef',
  (container) => (container.env ?? []).some((each) => isSet(each.valueFrom?.fileKeyRef)),
];
const noGates: UnsupportedGates = { HostnameOverride: false, ContainerStopSignals: false, EnvFiles: false };

/** Undefined: all fields are supported. `restartRules`: feature gate ContainerRestartRules; `imageVolumes`: ImageVolume. */
export function rejectUnsupported(
  pod: Pod,
  { restartRules = false, imageVolumes = false, gates = noGates } = {},
): Rejection | undefined {
  const { spec } = pod;
  if (spec === undefined) return { reason: 'UnexpectedAdmissionError', message: 'the pod has no spec' };
  const checks: readonly Check<Container>[] = [
    ...containerChecks,
    ...(restartRules ? [] : ruleChecks),
    ...(gates.ContainerStopSignals ? [] : [stopSignalCheck]),
    ...(gates.EnvFiles ? [] : [envFileCheck]),
  ];
  const inList = (list: string, containers: readonly Container[]): readonly string[] =>
    containers.flatMap((container, index) =>
      checks
        .filter(
          ([path, isUsed]) =>
            isUsed(container) && !(path === 'restartPolicy' && isSidecarOf(list, container)),
        )
        .map(([path]) => `spec.${list}[${index}].${path}`),
    );
  const fields = [
    ...[...podChecks, ...(gates.HostnameOverride ? [] : [hostnameCheck])]
      .filter(([, isUsed]) => isUsed(spec))
      .map(([path]) => path),
    ...unknownVolumes(spec.volumes ?? [], imageVolumes),
    ...inList('initContainers', spec.initContainers ?? []),
    ...inList('containers', spec.containers),
    ...inList('ephemeralContainers', spec.ephemeralContainers ?? []),
  ];
  if (fields.length === 0) return undefined;
  return {
    reason: 'UnsupportedPodFeature',
    message: `this kubelet does not support ${fields.join(', ')} yet`,
  };
}

function isSidecarOf(list: string, container: Container): boolean {
  return list === 'initContainers' && isSidecar(container);
}
