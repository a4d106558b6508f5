// Applies the defaults of the API server, which never sees the manifest of a static pod.
// Pure: the argument is not mutated. Invariant: defaulting is idempotent.
// Upstream: pkg/apis/core/v1 (defaults.go, zz_generated.defaults.go and the conversion to and from the internal pod).
import type { Pod, PodSpec } from '../../api/k8s/types.ts';
import { defaultContainer } from './container-defaults.ts';
import { defaultPodResources, requestsFromLimits } from './resource-defaults.ts';
import { defaultVolume } from './volume-defaults.ts';

const defaultGraceSeconds = 30;

/** Annotations of init containers before there was a field; the API drops them. */
const initContainerAnnotations: ReadonlySet<string> = new Set([
  'pod.beta.kubernetes.io/init-containers',
  'pod.alpha.kubernetes.io/init-containers',
  'pod.beta.kubernetes.io/init-container-statuses',
  'pod.alpha.kubernetes.io/init-container-statuses',
]);

export function defaultPod(given: Pod): Pod {
  const pod = structuredClone(given);
  const spec = pod.spec ?? { containers: [] };
  pod.spec = spec;
  spec.containers ??= [];
  const everyContainer = [...spec.containers, ...(spec.initContainers ?? [])];
  for (const container of everyContainer) requestsFromLimits(container);
  defaultPodResources(spec);
  defaultSpec(spec);
  if (spec.hostNetwork === true) hostPortsFromContainerPorts(spec);
  for (const volume of spec.volumes ?? []) defaultVolume(volume);
  for (const container of [...everyContainer, ...(spec.ephemeralContainers ?? [])])
    defaultContainer(container);
  normalise(pod, spec);
  return pod;
}

function defaultSpec(spec: PodSpec): void {
  spec.enableServiceLinks ??= true;
  spec.dnsPolicy ||= 'ClusterFirst';
  spec.restartPolicy ||= 'Always';
  spec.securityContext ??= {};
  spec.terminationGracePeriodSeconds ??= defaultGraceSeconds;
  spec.schedulerName ||= 'default-scheduler';
}

/** With host network the container port is the host port. */
function hostPortsFromContainerPorts(spec: PodSpec): void {
  for (const container of [...spec.containers, ...(spec.initContainers ?? [])])
    for (const port of container.ports ?? []) if (port.containerPort) port.hostPort ||= port.containerPort;
}

/** The other changes of the conversion to the internal version and back. */
function normalise(pod: Pod, spec: PodSpec): void {
  // The deprecated field is an alias: it follows the new one, and is used only if that is absent.
  const account = spec.serviceAccountName || spec.serviceAccount;
  if (account) {
    spec.serviceAccountName = account;
    spec.serviceAccount = account;
  }
  if ((spec.terminationGracePeriodSeconds ?? 0) < 0) spec.terminationGracePeriodSeconds = 1;
  const annotations = pod.metadata?.annotations;
  if (annotations === undefined) return;
  for (const key of initContainerAnnotations) delete annotations[key];
}
