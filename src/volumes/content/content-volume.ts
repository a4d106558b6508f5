// Volumes whose files the kubelet writes: the common part of configMap, secret, downwardAPI and projected.
// Upstream: SetUpAt of pkg/volume/{configmap,secret,downwardapi,projected}, each wrapping an emptyDir.
// Invariant: the content is collected before the directory is created, so that a missing object leaves no empty directory.
import type { Pod } from '../../api/k8s/types.ts';
import type { Allocatable } from '../../api/pod/pod-fields.ts';
import type { ChangedObject } from '../../api/ports/pod-objects.ts';
import type { Content } from '../../api/ports/volume-host.ts';
import {
  pluginDefaults,
  type SetUpRequest,
  type SetUpVolume,
  type VolumePlugin,
  type VolumeSpec,
} from '../plugin.ts';
import { nestedMountPoints } from '../spec/pod-spec.ts';
import {
  isMarkedComplete,
  type ManagedDirectoryDeps,
  makeManagedDirectory,
  managedDirectoryStats,
  markComplete,
  memoryBytes,
  removeManagedDirectory,
} from './managed-directory.ts';

export interface ContentKind {
  readonly name: string;
  /** Whether its files must not be written to disk. */
  readonly inMemory: boolean;
  canServe(spec: VolumeSpec): boolean;
  references(pod: Pod, spec: VolumeSpec): readonly ChangedObject[];
  collect(request: SetUpRequest, signal: AbortSignal): Promise<Content>;
}

interface ContentVolumeDeps extends ManagedDirectoryDeps {
  readonly allocatable: () => Allocatable;
}

export function contentPlugin(deps: ContentVolumeDeps, kind: ContentKind): VolumePlugin {
  const { host } = deps;
  const markerOf = (directoryName: string): string => `wrapped_${directoryName}`;
  return {
    ...pluginDefaults,
    name: kind.name,
    needsRefresh: () => true,
    canServe: (spec) => kind.canServe(spec),
    references: (pod, spec) => kind.references(pod, spec),
    async setUp(request, signal) {
      const { pod, spec, path, owner, isRemount } = request;
      const uid = pod.metadata?.uid ?? '';
      const content = await kind.collect(request, signal);
      signal.throwIfAborted();
      const volume = { uid, path, directoryName: spec.directoryName };
      const marker = markerOf(spec.directoryName);
      const medium = kind.inMemory
        ? ({ kind: 'memory', sizeBytes: memoryBytes(deps.allocatable()) } as const)
        : ({ kind: 'disk' } as const);
      const state = await makeManagedDirectory(deps, volume, { marker, medium, isRemount });
      const nested = state === 'complete' ? [] : nestedMountPoints(pod, spec.name);
      const { fsGroup } = owner;
      const options = { fsGroup, nested, isNew: state === 'new', inMemory: kind.inMemory };
      await host.writeContent(path, content, options);
      if (state !== 'complete') await markComplete(deps, uid, marker);
      return readOnlyAt(path);
    },
    tearDown: async (volume) =>
      await removeManagedDirectory(deps, volume, {
        marker: markerOf(volume.directoryName),
        remains: kind.inMemory ? 'mount' : 'own-files',
      }),
    async reconstruct(volume) {
      const { path, uid, directoryName } = volume;
      const isMounted = !kind.inMemory || (await host.isMountedAs(path, 'tmpfs'));
      const isComplete = isMounted && (await isMarkedComplete(deps, uid, markerOf(directoryName)));
      return isComplete ? readOnlyAt(path) : undefined;
    },
    stats: async (path, signal) => await managedDirectoryStats(host, path, signal),
  };
}

function readOnlyAt(path: string): SetUpVolume {
  return { location: { kind: 'path', path }, readOnly: true, managed: true };
}
