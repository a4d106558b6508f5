// The downwardAPI plugin: writes fields of the pod to files in memory. Upstream: pkg/volume/downwardapi.
import { normalize } from 'node:path';
import type { DownwardAPIVolumeFile, Pod } from '../../api/k8s/types.ts';
import { type Allocatable, containerResourceText, podFieldText } from '../../api/pod/pod-fields.ts';
import type { Content, ContentFile } from '../../api/ports/volume-host.ts';
import type { ContentKind } from '../content/content-volume.ts';
import { apiDefaultMode } from '../content/key-content.ts';

export function downwardApiKind(allocatable: () => Allocatable): ContentKind {
  return {
    name: 'kubernetes.io/downward-api',
    inMemory: true,
    canServe: ({ source }) => source.downwardAPI !== undefined,
    references: () => [],
    collect: async ({ pod, spec }) => {
      const { items = [], defaultMode = apiDefaultMode } = spec.source.downwardAPI ?? {};
      return downwardContent(pod, items, defaultMode, allocatable());
    },
  };
}

/** One file per item. Throws `invalid` for an unknown field. Pure. */
export function downwardContent(
  pod: Pod,
  items: readonly DownwardAPIVolumeFile[],
  defaultMode: number,
  allocatable: Allocatable,
): Content {
  const content = new Map<string, ContentFile>();
  for (const item of items) {
    const data = Buffer.from(itemText(pod, item, allocatable));
    content.set(normalize(item.path), { data, mode: item.mode ?? defaultMode });
  }
  return content;
}

function itemText(pod: Pod, item: DownwardAPIVolumeFile, allocatable: Allocatable): string {
  const { fieldRef, resourceFieldRef } = item;
  if (fieldRef !== undefined) return podFieldText(pod, fieldRef.fieldPath);
  if (resourceFieldRef === undefined) return '';
  return containerResourceText(pod, resourceFieldRef, resourceFieldRef.containerName ?? '', allocatable);
}
