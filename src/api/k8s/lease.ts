/** The namespace of the leases of all nodes. Upstream: corev1.NamespaceNodeLease. */
export const leaseNamespace = 'kube-node-lease';
