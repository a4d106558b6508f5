// The span of a worker's step. Pure. Upstream: the spans of SyncPod, SyncTerminatingPod and SyncTerminatedPod in
// pkg/kubelet/kubelet.go.
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { SpanStart } from '../base/tracer.ts';
import type { Transition } from './transition.ts';

const scope = 'k8s.io/kubernetes/pkg/kubelet';

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
    case 'remove':
    case 'restart':
      // differs from upstream: there the garbage collection removes the containers of a removed pod, here its worker does.
      return { scope, name: 'syncTerminatedPod', attributes: pod, origin: 'new' };
    case 'wait':
    case 'reject':
    case 'idle':
    case 'forget':
    default:
      return undefined;
  }
}
