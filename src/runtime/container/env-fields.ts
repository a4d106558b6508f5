// Environment variables from fields of the pod and resources of a container (downward API). Pure.
// Upstream: podFieldSelectorRuntimeValue in kubelet_pods.go, ConvertDownwardAPIFieldLabel in pkg/apis/core/pods,
// defaultPodLimitsForDownwardAPI in kubelet_resources.go.

import { isQualifiedName } from '../../api/k8s/names.ts';
import type {
  Container,
  ObjectFieldSelector,
  Pod,
  ResourceFieldSelector,
  ResourceList,
} from '../../api/k8s/types.ts';
import { containerResourceText, podFieldText } from '../../api/pod/pod-fields.ts';
import { Quantity } from '../../api/quantity/quantity.ts';
import { KubeletError } from '../../base/errors.ts';

/** Addresses that the kubelet knows before the pod's object has them. */
export interface PodIps {
  readonly podIps: readonly string[];
  readonly hostIps: readonly string[];
}

const metadataFields: ReadonlySet<string> = new Set([
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
]);
/** Allowed in a selector, but always empty. */
const emptyFields: ReadonlySet<string> = new Set([
  'spec.restartPolicy',
  'spec.schedulerName',
  'status.phase',
]);

export function envFieldText(selector: ObjectFieldSelector, pod: Pod, addresses: PodIps): string {
  const version = selector.apiVersion ?? 'v1';
  if (version !== 'v1' && version !== '') throw invalid(`unsupported pod version: ${version}`);
  const { fieldPath } = selector;
  const { hostIps, podIps } = addresses;
  switch (fieldPath) {
    case 'spec.host':
    case 'spec.nodeName':
      return pod.spec?.nodeName ?? '';
    case 'spec.serviceAccountName':
      return pod.spec?.serviceAccountName ?? '';
    case 'status.hostIP':
      return hostIps[0] ?? '';
    case 'status.hostIPs':
      return hostIps.join(',');
    case 'status.podIP':
      return podIps[0] ?? '';
    case 'status.podIPs':
      return podIps.join(',');
    default:
      checkField(fieldPath);
      return podFieldText(pod, fieldPath);
  }
}

function checkField(fieldPath: string): void {
  const [, path = '', key = ''] = /^([^[]+)\['(.*)'\]$/.exec(fieldPath) ?? [];
  if (path === '') {
    if (metadataFields.has(fieldPath) || emptyFields.has(fieldPath)) return;
    throw invalid(`field label not supported: ${fieldPath}`);
  }
  if (path !== 'metadata.annotations' && path !== 'metadata.labels') {
    throw invalid(`field label does not support subscript: ${fieldPath}`);
  }
  const wrong = isQualifiedName(path === 'metadata.annotations' ? key.toLowerCase() : key);
  if (wrong.length > 0) throw invalid(`invalid key subscript in ${fieldPath}: ${wrong.join(';')}`);
}

/** A missing limit of the container defaults to the pod's limit, and that to the node's allocatable. */
export function envResourceText(
  selector: ResourceFieldSelector,
  pod: Pod,
  container: Container,
  allocatable: ResourceList,
): string {
  const { containerName = '' } = selector;
  const ofPod = Object.entries(pod.spec?.resources?.limits ?? {}).filter(
    ([name, amount]) => name in allocatable && !Quantity.parse(amount).isZero(),
  );
  const defaults = { ...allocatable, ...Object.fromEntries(ofPod) };
  if (containerName !== '') return containerResourceText(pod, selector, containerName, defaults);
  // Without a name the selector refers to the container itself, which may be an ephemeral one.
  const self: Pod = { ...pod, spec: { ...pod.spec, containers: [container], initContainers: [] } };
  return containerResourceText(self, selector, container.name, defaults);
}

function invalid(message: string): KubeletError {
  return new KubeletError('invalid', 'CreateContainerConfigError', message);
}
