// The values that the API server fills in when a pod is created, since none stands between a manifest and this kubelet.
// Pure: the given pod stays as it is. Invariant: applying the defaults twice gives the same as once.
// Upstream: pkg/apis/core/v1 (defaults.go, zz_generated.defaults.go and the conversion to and from the internal pod).
import type { Pod, PodSpec } from '../../api/k8s/types.ts';
import { defaultContainer } from './container-defaults.ts';
import { defaultPodResources, requestsFromLimits } from './resource-defaults.ts';
import { defaultVolume } from './volume-defaults.ts';

const defaultGraceSeconds = 30;

/** Once told containers to run first; the field took over long ago, and the API drops these on sight. */
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

/** On the host's network a container's port is the host's port. */
function hostPortsFromContainerPorts(spec: PodSpec): void {
  for (const container of [...spec.containers, ...(spec.initContainers ?? [])])
    for (const port of container.ports ?? []) if (port.containerPort) port.hostPort ||= port.containerPort;
}

/** What a pod's way through the API server's own version of it changes besides. */
function normalise(pod: Pod, spec: PodSpec): void {
  // The old field is an alias: it follows the new one, and leads only where that is not given.
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
