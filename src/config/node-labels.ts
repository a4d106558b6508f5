// The labels that a kubelet may set on its own Node. Upstream: staging/src/k8s.io/kubelet/pkg/apis/well_known_labels.go.

export const kubeletLabels: readonly string[] = [
  'beta.kubernetes.io/arch',
  'beta.kubernetes.io/instance-type',
  'beta.kubernetes.io/os',
  'failure-domain.beta.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'kubernetes.io/arch',
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'node.kubernetes.io/instance-type',
  'topology.kubernetes.io/region',
  'topology.kubernetes.io/zone',
];

export const kubeletLabelNamespaces: readonly string[] = ['kubelet.kubernetes.io', 'node.kubernetes.io'];

/** Whether the label is in a reserved namespace of Kubernetes and not one that a kubelet may set. */
export function isForbiddenNodeLabel(key: string): boolean {
  const slash = key.indexOf('/');
  if (slash < 0 || kubeletLabels.includes(key)) return false;
  const namespace = key.slice(0, slash);
  if (!within(namespace, 'kubernetes.io') && !within(namespace, 'k8s.io')) return false;
  return !kubeletLabelNamespaces.some((allowed) => within(namespace, allowed));
}

function within(namespace: string, parent: string): boolean {
  return namespace === parent || namespace.endsWith(`.${parent}`);
}
