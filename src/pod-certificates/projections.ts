// The podCertificate sources of a pod's projected volumes, and their keys. Pure.
// Upstream: projectionKey and queueAllProjectionsForPod in pkg/kubelet/podcertificate.
import type { Pod, VolumeProjection } from '../api/k8s/types.ts';
import { asPodUid, type PodUid, podUid } from '../api/pod/pod-ref.ts';

type PodCertificateSource = NonNullable<VolumeProjection['podCertificate']>;

/** `<pod UID>/<volume>/<index of the source>` */
export type ProjectionKey = string;

export interface Projection {
  readonly key: ProjectionKey;
  readonly pod: Pod;
  readonly volume: string;
  readonly source: PodCertificateSource;
}

export function projectionKey(uid: string, volume: string, sourceIndex: number): ProjectionKey {
  return `${uid}/${volume}/${sourceIndex}`;
}

export function uidOfKey(key: ProjectionKey): PodUid {
  return asPodUid(key.slice(0, key.indexOf('/')));
}

export function projectionsOf(pod: Pod): readonly Projection[] {
  const uid = podUid(pod);
  return (pod.spec?.volumes ?? []).flatMap(({ name: volume, projected }) =>
    (projected?.sources ?? []).flatMap(({ podCertificate: source }, index) =>
      source === undefined ? [] : [{ key: projectionKey(uid, volume, index), pod, volume, source }],
    ),
  );
}
