// Where the control plane's own pod differs from the pod of the v1 API, said in JSON: the host namespaces lie in the
// security context, the old name of the service account and the old single pod IP are folded into the new fields.
// Invariant: the argument is never changed. Upstream: pkg/apis/core/v1/conversion.go.
import { isPresent } from '../../../base/guards.ts';
import type { Pod, PodSpec, PodStatus } from '../../k8s/types.ts';
import type { JsonObject } from './json-value.ts';

const forgottenAnnotations: ReadonlySet<string> = new Set([
  'pod.beta.kubernetes.io/init-containers',
  'pod.alpha.kubernetes.io/init-containers',
  'pod.beta.kubernetes.io/init-container-statuses',
  'pod.alpha.kubernetes.io/init-container-statuses',
]);

/** The pod as the type core.Pod has it, under the JSON names of v1 where they exist. `resources` overrule the spec's. */
export function toInternalPod(pod: Pod, resources?: JsonObject): JsonObject {
  const { metadata, spec, status } = pod;
  const internal = {
    metadata: { ...metadata, annotations: withoutForgotten(metadata?.annotations) },
    spec: isPresent(spec) ? internalSpec(spec, resources) : { securityContext: {} },
    status: isPresent(status) ? internalStatus(status) : {},
  };
  return internal as unknown as JsonObject;
}

function withoutForgotten(annotations: Readonly<Record<string, string>> | null | undefined): unknown {
  if (!isPresent(annotations)) return undefined;
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => !forgottenAnnotations.has(key)));
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

/** Manifests spell out null where the types only know absence. */
