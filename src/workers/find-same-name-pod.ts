// Finds the pod of the same name that has to be removed before a pod may start. Pure.
// Upstream: allowPodStart of pkg/kubelet/pod_workers.go, which lets one static pod per full name run.
import { type PodUid, podFullName } from '../api/pod/pod-ref.ts';
import type { DesiredPod, WorkerStores } from './worker-deps.ts';
import type { WorkerRecords } from './worker-records.ts';

interface SameNameInput {
  readonly desired: Pick<WorkerStores['desired'], 'get' | 'all'>;
  readonly observed: Pick<WorkerStores['observed'], 'all'>;
  readonly records: Pick<WorkerRecords, 'all'>;
}

/** A desired pod that arrived earlier, or a pod in no source that still has a worker or is still on the runtime. */
export function findSameNamePod(
  own: DesiredPod,
  { desired, observed, records }: SameNameInput,
): PodUid | undefined {
  // A force-deleted API object may be replaced under the same name at once: API pods do not wait for each other.
  if (own.source === 'api') return undefined;
  const fullName = podFullName(own.pod);
  const earlier = desired
    .all()
    .find(({ uid, pod, order }) => uid !== own.uid && order < own.order && podFullName(pod) === fullName);
  if (earlier !== undefined) return earlier.uid;
  const isSameNamePod = (uid: PodUid, name: string): boolean =>
    uid !== own.uid &&
    name === fullName &&
    desired.get(uid) === undefined &&
    records.all().get(uid)?.isUnremovable !== true;
  // A pod whose sandbox is still being created is not listed by the runtime yet, but it has a worker.
  for (const [uid, { pod }] of records.all()) {
    if (pod !== undefined && isSameNamePod(uid, podFullName(pod))) return uid;
  }
  for (const [uid, seen] of observed.all())
    if (isSameNamePod(uid, podFullName({ metadata: seen }))) return uid;
  return undefined;
}
