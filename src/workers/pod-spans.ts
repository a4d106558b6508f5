// The span of a worker's step, and what of a sync is its error. Pure. Upstream: the spans of SyncPod, SyncTerminatingPod and SyncTerminatedPod in
// pkg/kubelet/kubelet.go.
import type { WaitingReason } from '../api/pod/pod-lifecycle.ts';
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

/** A container in back-off was not tried. */
const untried: readonly string[] = ['CrashLoopBackOff', 'ImagePullBackOff'];

/** The containers that a sync failed to start; undefined if there are none. Upstream: PodSyncResult.Error(). */
export function startFailure(waiting: Readonly<Record<string, WaitingReason>>): string | undefined {
  const failed = Object.entries(waiting).filter(([, { reason }]) => !untried.includes(reason));
  const texts = failed.map(
    ([name, { message, reason }]) =>
      `failed to "StartContainer" for "${name}" with ${reason}: ${JSON.stringify(message)}`,
  );
  return texts.length > 1 ? `[${texts.join(', ')}]` : texts[0];
}
