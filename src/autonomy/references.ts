// Which kept objects the pods use, directly or through claims and volumes. Pure.
// Invariant: what no pod uses that may still start is not kept, so that a deleted pod's secrets leave the disk.
import type { PersistentVolume, PersistentVolumeClaim, Pod, SecretReference } from '../api/k8s/types.ts';
import { podReferences } from '../api/pod/pod-references.ts';
import type { ObjectKind, ObjectRef } from './kept-kinds.ts';
import { isOver } from './kept-pod.ts';

/** What one pod refers to, by the records' IDs. */
export interface UsedByPod {
  readonly namespace: string;
  readonly objects: readonly string[];
}

/** What claims and volumes refer to, by the records' IDs. */
type Links = ReadonlyMap<string, readonly string[]>;

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

const kindsOfPods: readonly ObjectKind[] = [
  'configmaps',
  'secrets',
  'persistentvolumeclaims',
  'serviceaccounts',
];

/** Undefined: the pod is over, and uses nothing any more. */
export function computeUsedByPod(pod: Pod): UsedByPod | undefined {
  if (isOver(pod)) return undefined;
  const { namespace = '' } = pod.metadata ?? {};
  const references = podReferences(pod);
  const objects = kindsOfPods.flatMap((kind) =>
    (references[kind] ?? []).map((name) => idOf({ kind, key: `${namespace}/${name}` })),
  );
  return { namespace, objects };
}

export function computeWanted(used: ReadonlyMap<string, UsedByPod>, links: Links): Wanted {
  const objects = new Set<string>();
  const namespaces = new Set<string>();
  for (const each of used.values()) {
    namespaces.add(each.namespace);
    for (const id of each.objects) addWithLinks(objects, id, links);
  }
  return { objects, podUids: new Set(used.keys()), namespaces };
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
  return secretsOf(object as PersistentVolume).flatMap((ref) =>
    ref?.name === undefined ? [] : [idOf({ kind: 'secrets', key: `${ref.namespace ?? ''}/${ref.name}` })],
  );
}

/** Without a namespace: that of the claim, which is the pod's. */
function secretsOf({ spec }: PersistentVolume): readonly (SecretReference | undefined)[] {
  const { azureFile, csi, flexVolume, iscsi } = spec ?? {};
  const namespace = spec?.claimRef?.namespace ?? '';
  const inClaims = (ref: SecretReference | undefined): SecretReference | undefined =>
    ref && { ...ref, namespace: ref.namespace || namespace };
  return [
    csi?.nodePublishSecretRef,
    csi?.nodeStageSecretRef,
    csi?.nodeExpandSecretRef,
    inClaims(iscsi?.secretRef),
    inClaims(flexVolume?.secretRef),
    azureFile && { name: azureFile.secretName, namespace: azureFile.secretNamespace ?? namespace },
  ];
}
