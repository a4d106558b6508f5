// Which other pod of the same name has to go before a pod may start. Pure.
// Upstream: allowPodStart of pkg/kubelet/pod_workers.go, which lets one static pod per full name run.
import { type PodUid, podFullName } from '../api/pod/pod-ref.ts';
import type { WantedPod, WorkerStores } from './worker-deps.ts';
import type { WorkerRecords } from './worker-records.ts';

interface SameNameInput {
  readonly desired: Pick<WorkerStores['desired'], 'get' | 'all'>;
  readonly observed: Pick<WorkerStores['observed'], 'all'>;
  readonly records: Pick<WorkerRecords, 'all'>;
}

/** Wanted earlier; or wanted no more, but still worked on or on the runtime. */
export function findSameNamePod(
  own: WantedPod,
  { desired, observed, records }: SameNameInput,
): PodUid | undefined {
  // Two objects of the API may follow each other under one name, the first being deleted by force: they do not wait.
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
    records.all().get(uid)?.isKept !== true;
  // One whose sandbox is still being made is on no list of the runtime yet, but its worker knows of it.
  for (const [uid, { pod }] of records.all()) {
    if (pod !== undefined && isSameNamePod(uid, podFullName(pod))) return uid;
  }
  for (const [uid, seen] of observed.all())
    if (isSameNamePod(uid, podFullName({ metadata: seen }))) return uid;
  return undefined;
}
