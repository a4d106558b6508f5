// The labels and annotations by which a kubelet recognises its sandboxes and containers.
// Invariant: these names never change, since running containers carry them.
// Upstream: pkg/kubelet/types/labels.go and kuberuntime/labels.go.
export const criLabels = {
  podName: 'io.kubernetes.pod.name',
  podNamespace: 'io.kubernetes.pod.namespace',
  podUid: 'io.kubernetes.pod.uid',
  containerName: 'io.kubernetes.container.name',
} as const;

export const criAnnotations = {
  hash: 'io.kubernetes.container.hash',
  restartCount: 'io.kubernetes.container.restartCount',
  terminationMessagePath: 'io.kubernetes.container.terminationMessagePath',
  terminationMessagePolicy: 'io.kubernetes.container.terminationMessagePolicy',
  preStopHandler: 'io.kubernetes.container.preStopHandler',
  ports: 'io.kubernetes.container.ports',
  deletionGracePeriod: 'io.kubernetes.pod.deletionGracePeriod',
  terminationGracePeriod: 'io.kubernetes.pod.terminationGracePeriod',
} as const;

/** On pods and, copied, on their sandboxes: when the pod's source first saw it. */
export const seenAnnotation = 'kubernetes.io/config.seen';
