// Converts a v1 pod to the internal version, in JSON. Before 1.37 the host namespaces are in the security context, and the
// deprecated service account name and the single pod IP are merged into their successors; since 1.37 they are as in v1. The
// result has both, and the type table selects. Invariant: the argument is never mutated.
// Upstream: pkg/apis/core/v1 (conversion.go and defaults.go).
import { isPresent } from '../../../base/guards.ts';
import type { Pod, PodSpec, PodStatus } from '../../k8s/types.ts';
import type { JsonObject } from './json-value.ts';

const droppedAnnotations: ReadonlySet<string> = new Set([
  'pod.beta.kubernetes.io/init-containers',
  'pod.alpha.kubernetes.io/init-containers',
  'pod.beta.kubernetes.io/init-container-statuses',
  'pod.alpha.kubernetes.io/init-container-statuses',
]);

interface InternalPodOptions {
  /** Overrides that of the spec. */
  readonly resources?: JsonObject | undefined;
  /** The annotations that preceded init containers are dropped, as before 1.37. */
  readonly dropsInitAnnotations: boolean;
}

/** The fields of core.Pod, under the JSON names of v1 where they exist. */
export function toInternalPod(pod: Pod, { resources, dropsInitAnnotations }: InternalPodOptions): JsonObject {
  const { metadata, spec, status } = pod;
  const internal = {
    metadata: dropsInitAnnotations
      ? { ...metadata, annotations: withoutDropped(metadata?.annotations) }
      : metadata,
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
  const account = spec.serviceAccountName || spec.serviceAccount;
  return {
    ...spec,
    resources: resources ?? spec.resources,
    serviceAccountName: account,
    serviceAccount: account,
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
  if (!isPresent(podIP) || podIP === '') return { ...status, podIP: podIPs?.[0]?.ip };
  if (podIPs?.[0]?.ip === podIP) return { ...status };
  return { ...status, podIPs: [{ ip: podIP }] };
}
