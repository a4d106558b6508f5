// Applies the defaults of the API server, which never sees the manifest of a static pod.
// Pure: the argument is not mutated. Invariant: defaulting is idempotent.
// Upstream: pkg/apis/core/v1 (defaults.go, zz_generated.defaults.go and the conversion to and from the internal pod).
import type { Pod, PodSpec, Volume } from '../../api/k8s/types.ts';
import { applyConstantDefaults } from './constant-defaults.ts';
import { hasLatestTag } from './image-tag.ts';
import { defaultPodResources, requestsFromLimits } from './resource-defaults.ts';

export function defaultPod(given: Pod): Pod {
  const pod = structuredClone(given);
  const spec = pod.spec ?? { containers: [] };
  pod.spec = spec;
  spec.containers ??= [];
  const everyContainer = [...spec.containers, ...(spec.initContainers ?? [])];
  for (const container of everyContainer) requestsFromLimits(container);
  defaultPodResources(spec);
  spec.securityContext ??= {};
  if (spec.hostNetwork === true) hostPortsFromContainerPorts(spec);
  for (const volume of spec.volumes ?? []) defaultVolume(volume);
  for (const container of [...everyContainer, ...(spec.ephemeralContainers ?? [])])
    container.imagePullPolicy ||= defaultPullPolicy(container.image);
  applyConstantDefaults(spec, { is: 'struct', name: 'PodSpec' });
  normalise(spec);
  return pod;
}

/** A volume without a source is an empty directory. */
function defaultVolume(volume: Volume): void {
  if (Object.entries(volume).every(([key, source]) => key === 'name' || source === undefined))
    volume.emptyDir = {};
  const { image } = volume;
  if (image !== undefined) image.pullPolicy ||= defaultPullPolicy(image.reference);
}

/** Always for the tag latest; otherwise, even for an invalid reference, IfNotPresent. */
function defaultPullPolicy(image = ''): string {
  return hasLatestTag(image) ? 'Always' : 'IfNotPresent';
}

/** With host network the container port is the host port. */
function hostPortsFromContainerPorts(spec: PodSpec): void {
  for (const container of [...spec.containers, ...(spec.initContainers ?? [])])
    for (const port of container.ports ?? []) if (port.containerPort) port.hostPort ||= port.containerPort;
}

/** Aliases and corrections, which apply to a pod as a whole. */
function normalise(spec: PodSpec): void {
  // The deprecated field is an alias: it follows the new one, and is used only if that is absent.
  const account = spec.serviceAccountName || spec.serviceAccount;
  if (account) {
    spec.serviceAccountName = account;
    spec.serviceAccount = account;
  }
  if ((spec.terminationGracePeriodSeconds ?? 0) < 0) spec.terminationGracePeriodSeconds = 1;
}
