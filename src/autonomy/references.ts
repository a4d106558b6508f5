// Which kept objects the pods use, directly or through claims and volumes. Pure.
// Invariant: what no pod uses that may still start is not kept, so that a deleted pod's secrets leave the disk.
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../api/k8s/types.ts';
import { podReferences } from '../api/pod/pod-references.ts';
import { isOver } from './kept-pod.ts';
import type { ObjectRef } from './kept-kinds.ts';

/** What claims and volumes refer to, by their record's ID. */
export type Links = ReadonlyMap<string, readonly string[]>;

export interface Wanted {
  /** The IDs of records. */
  readonly objects: ReadonlySet<string>;
  /** The pods that tokens may be kept for. */
  readonly podUids: ReadonlySet<string>;
  readonly namespaces: ReadonlySet<string>;
}

export function idOf({ key, kind }: ObjectRef): string {
  return `${kind} ${key}`;
}

export function computeWanted(pods: Iterable<Pod>, links: Links): Wanted {
  const objects = new Set<string>();
  const podUids = new Set<string>();
  const namespaces = new Set<string>();
  for (const pod of pods) {
    if (isOver(pod)) continue;
    const { namespace = '', uid = '' } = pod.metadata ?? {};
    podUids.add(uid);
    namespaces.add(namespace);
    const { configmaps = [], persistentvolumeclaims = [], secrets = [], serviceaccounts = [] } =
      podReferences(pod);
    const byKind = { configmaps, secrets, persistentvolumeclaims, serviceaccounts };
    for (const kind of ['configmaps', 'secrets', 'persistentvolumeclaims', 'serviceaccounts'] as const)
      for (const name of byKind[kind]) addWithLinks(objects, idOf({ kind, key: `${namespace}/${name}` }), links);
  }
  return { objects, podUids, namespaces };
}

/** A claim refers to its volume, a volume to its secrets: two steps, never a circle. */
function addWithLinks(objects: Set<string>, id: string, links: Links): void {
  if (objects.has(id)) return;
  objects.add(id);
  for (const next of links.get(id) ?? []) addWithLinks(objects, next, links);
}

/** What a kept object refers to itself; undefined: objects of its kind refer to none. */
export function computeLinks({ kind }: ObjectRef, object: unknown): readonly string[] | undefined {
  if (kind === 'persistentvolumeclaims') {
    const name = (object as PersistentVolumeClaim).spec?.volumeName ?? '';
    return name === '' ? [] : [idOf({ kind: 'persistentvolumes', key: name })];
  }
  if (kind !== 'persistentvolumes') return undefined;
  const csi = (object as PersistentVolume).spec?.csi;
  const refs = [csi?.nodePublishSecretRef, csi?.nodeStageSecretRef, csi?.nodeExpandSecretRef];
  return refs.flatMap((ref) =>
    ref?.name === undefined ? [] : [idOf({ kind: 'secrets', key: `${ref.namespace ?? ''}/${ref.name}` })],
  );
}
