// The span of a worker's step. Pure. Upstream: the spans of SyncPod, SyncTerminatingPod and SyncTerminatedPod in
// pkg/kubelet/kubelet.go, and of GarbageCollect in pkg/kubelet/kuberuntime.
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { SpanStart } from '../base/tracer.ts';
import type { Transition } from './transition.ts';

const scope = 'k8s.io/kubernetes/pkg/kubelet';

/** Of the collector's passes, and of the workers that remove what is left of a pod. */
export const garbageSpan = {
  scope: `${scope}/kuberuntime`,
  name: 'Containers/GarbageCollect',
} as const;

interface PodIdentity {
  readonly namespace?: string;
  readonly name?: string;
}

/** Undefined for a step that is no work. Each step is a trace of its own. */
export function podSpan(
  step: Transition['step']['step'],
  uid: PodUid,
  { name = '', namespace = '' }: PodIdentity,
  updateType = '',
): SpanStart | undefined {
  const pod = {
    'k8s.pod.uid': uid,
    'k8s.pod': `${namespace}/${name}`,
    'k8s.pod.name': name,
    'k8s.namespace.name': namespace,
  };
  switch (step) {
    case 'sync':
      return {
        scope,
        name: 'syncPod',
        attributes: { ...pod, 'k8s.pod.update_type': updateType },
        origin: 'new',
      };
    case 'stop':
      return { scope, name: 'syncTerminatingPod', attributes: pod, origin: 'new' };
    case 'clean':
    case 'restart':
      return { scope, name: 'syncTerminatedPod', attributes: pod, origin: 'new' };
    case 'remove':
      // differs from upstream: there the next pass over all pods removes what is left of a pod; here its worker does at once.
      return { ...garbageSpan, attributes: pod, origin: 'new' };
    case 'wait':
    case 'reject':
    case 'idle':
    case 'forget':
    default:
      return undefined;
  }
}
