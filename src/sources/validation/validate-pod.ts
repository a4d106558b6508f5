// Validates a defaulted pod as the API server does on creation. Reports every violation with the path of its field.
// Pure. Invariant: the rest of the kubelet may rely on the required fields of a pod that passes.
// Upstream: pkg/apis/core/validation (ValidatePodCreate).
import type { Pod, PodSpec } from '../../api/k8s/types.ts';
import { checkPodAnnotations } from './annotations.ts';
import { type ContainerContext, checkContainers } from './containers/containers.ts';
import { checkPodClaims, checkPodResources } from './containers/resources.ts';
import { checkMetadata } from './metadata.ts';
import { checkOperatingSystem } from './operating-system.ts';
import { checkDns, checkHostNamespaces, checkSpecFields } from './pod-spec.ts';
import { checkAffinity, checkTolerations } from './scheduling.ts';
import { checkPodSecurity } from './security.ts';
import { checkTopologySpread } from './topology-spread.ts';
import { type Violation, Violations } from './violation.ts';
import { checkVolumes } from './volumes/volumes.ts';
import { checkHostProcesses } from './windows-options.ts';

/** Gates that change validation; the others are on, their default in a cluster of this version. */
export interface PodValidationOptions {
  /** ContainerRestartRules. */
  readonly containerRestartRules: boolean;
  /** SELinuxMount. */
  readonly seLinuxMount: boolean;
  /** StrictIPCIDRValidation. */
  readonly strictIps: boolean;
}

export const defaultPodValidation: PodValidationOptions = {
  containerRestartRules: true,
  seLinuxMount: false,
  strictIps: true,
};

export function validatePod(
  pod: Pod,
  options: PodValidationOptions = defaultPodValidation,
): readonly Violation[] {
  const v = new Violations();
  const spec = pod.spec ?? { containers: [] };
  checkMetadata(v, 'metadata', pod.metadata ?? {});
  checkPodAnnotations(v, pod, spec);
  const volumes = checkVolumes(v, 'spec.volumes', spec.volumes ?? [], pod.metadata?.name ?? '');
  const claims = spec.resourceClaims ?? [];
  checkPodClaims(v, 'spec.resourceClaims', claims);
  const context: ContainerContext = {
    volumes,
    claimNames: new Set(claims.map((claim) => claim.name).filter((name) => name !== '')),
    podRestartPolicy: spec.restartPolicy,
    hostUsers: spec.hostUsers !== false,
    graceSeconds: spec.terminationGracePeriodSeconds,
    os: spec.os === undefined ? undefined : (spec.os.name ?? ''),
    restartRules: options.containerRestartRules,
  };
  checkContainers(v, spec, context);
  checkPodResources(v, 'spec.resources', spec);
  checkSpecFields(v, spec, options.strictIps);
  checkPodSecurity(v, 'spec.securityContext', spec, options.seLinuxMount);
  checkAffinity(v, 'spec.affinity', spec.affinity);
  checkTolerations(v, 'spec.tolerations', spec.tolerations ?? []);
  checkTopologySpread(v, 'spec.topologySpreadConstraints', spec.topologySpreadConstraints ?? []);
  checkDns(v, spec, options.strictIps);
  checkHostNamespaces(v, spec);
  checkHostProcesses(v, spec);
  checkOperatingSystem(v, spec);
  checkEnvFiles(v, spec);
  checkTokens(v, spec);
  if ((spec.ephemeralContainers ?? []).length > 0)
    v.forbidden('spec.ephemeralContainers', 'cannot be set when the pod is created');
  return v.found;
}

/** Variables from a file require an emptyDir volume. */
function checkEnvFiles(v: Violations, spec: PodSpec): void {
  const { containers, initContainers = [], ephemeralContainers = [], volumes = [] } = spec;
  for (const [list, each] of Object.entries({ containers, initContainers, ephemeralContainers }))
    for (const [index, { env = [] }] of each.entries())
      for (const [place, { valueFrom }] of env.entries()) {
        if (valueFrom?.fileKeyRef === undefined) continue;
        const name = valueFrom.fileKeyRef.volumeName ?? '';
        const field = `spec.${list}[${index}].env[${place}].valueFrom.fileKeyRef.volumeName`;
        const volume = volumes.findLast((candidate) => candidate.name === name);
        if (volume === undefined) v.notFound(field, name);
        else if (volume.emptyDir === undefined) v.invalid(field, name, 'must be an emptyDir volume');
      }
}

function checkTokens(v: Violations, spec: PodSpec): void {
  if (spec.serviceAccountName) return;
  for (const [index, { projected }] of (spec.volumes ?? []).entries())
    for (const [place, { serviceAccountToken }] of (projected?.sources ?? []).entries())
      if (serviceAccountToken !== undefined)
        v.forbidden(
          `spec.volumes[${index}].projected.sources[${place}].serviceAccountToken`,
          'must not be given without a serviceAccountName',
        );
}
