// Converts a v1 pod to the internal version, in JSON: host namespaces move to the security context, the deprecated service
// account name and single pod IP are merged into their successors. Invariant: the argument is never mutated. Upstream: pkg/apis/core/v1/conversion.go.
import { isPresent } from '../../../base/guards.ts';
import type { Pod, PodSpec, PodStatus } from '../../k8s/types.ts';
import type { JsonObject } from './json-value.ts';

const droppedAnnotations: ReadonlySet<string> = new Set([
  'pod.beta.kubernetes.io/init-containers',
  'pod.alpha.kubernetes.io/init-containers',
  'pod.beta.kubernetes.io/init-container-statuses',
  'pod.alpha.kubernetes.io/init-container-statuses',
]);

/** The fields of core.Pod, under the JSON names of v1 where they exist. `resources` overrides that of the spec. */
export function toInternalPod(pod: Pod, resources?: JsonObject): JsonObject {
  const { metadata, spec, status } = pod;
  const internal = {
    metadata: { ...metadata, annotations: withoutDropped(metadata?.annotations) },
    spec: isPresent(spec) ? internalSpec(spec, resources) : { securityContext: {} },
    status: isPresent(status) ? internalStatus(status) : {},
  };
  return internal as unknown as JsonObject;
}

function withoutDropped(annotations: Readonly<Record<string, string>> | null | undefined): unknown {
  if (!isPresent(annotations)) return undefined;
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => !droppedAnnotations.has(key)));
}

function internalSpec(spec: PodSpec, resources: JsonObject | undefined): Readonly<Record<string, unknown>> {
  const {
    hostNetwork,
    hostPID,
    hostIPC,
    shareProcessNamespace,
    hostUsers,
    terminationGracePeriodSeconds: grace,
  } = spec;
  return {
    ...spec,
    resources: resources ?? spec.resources,
    serviceAccountName: spec.serviceAccountName || spec.serviceAccount,
    securityContext: {
      ...spec.securityContext,
      hostNetwork,
      hostPID,
      hostIPC,
      shareProcessNamespace,
      hostUsers,
    },
    terminationGracePeriodSeconds: isPresent(grace) && grace < 0 ? 1 : grace,
  };
}

function internalStatus(status: PodStatus): Readonly<Record<string, unknown>> {
  const { podIP, podIPs } = status;
  if (!isPresent(podIP) || podIP === '' || podIPs?.[0]?.ip === podIP) return { ...status };
  return { ...status, podIPs: [{ ip: podIP }] };
}
