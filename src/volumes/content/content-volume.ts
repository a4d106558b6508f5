// Volumes whose files the kubelet writes: what configMap, secret, downwardAPI and projected have in common.
// Upstream: SetUpAt of pkg/volume/{configmap,secret,downwardapi,projected}, each wrapping an emptyDir.
// Invariant: the content is collected before anything is made, so that a missing object leaves no empty directory behind.
import type { Pod } from '../../api/k8s/types.ts';
import type { Allocatable } from '../../api/pod/pod-fields.ts';
import type { ChangedObject } from '../../api/ports/pod-objects.ts';
import type { Content } from '../../api/ports/volume-host.ts';
import {
  plainPlugin,
  type SetUpRequest,
  type SetUpVolume,
  type VolumePlugin,
  type VolumeSpec,
} from '../plugin.ts';
import { nestedMountPoints } from '../spec/pod-spec.ts';
import {
  isMarkedComplete,
  makeOwnDirectory,
  markComplete,
  memoryBytes,
  type OwnDirectoryDeps,
  ownDirectoryStats,
  removeOwnDirectory,
} from './own-directory.ts';

export interface ContentKind {
  readonly name: string;
  /** Whether its files must not reach the disk. */
  readonly inMemory: boolean;
  canServe(spec: VolumeSpec): boolean;
  references(pod: Pod, spec: VolumeSpec): readonly ChangedObject[];
  collect(request: SetUpRequest, signal: AbortSignal): Promise<Content>;
}

interface ContentVolumeDeps extends OwnDirectoryDeps {
  readonly allocatable: () => Allocatable;
}

export function contentPlugin(deps: ContentVolumeDeps, kind: ContentKind): VolumePlugin {
  const { host } = deps;
  const markerOf = (directoryName: string): string => `wrapped_${directoryName}`;
  return {
    ...plainPlugin,
    name: kind.name,
    needsRefresh: true,
    canServe: (spec) => kind.canServe(spec),
    references: (pod, spec) => kind.references(pod, spec),
    async setUp(request, signal) {
      const { pod, spec, path, owner, again } = request;
      const uid = pod.metadata?.uid ?? '';
      const content = await kind.collect(request, signal);
      signal.throwIfAborted();
      const volume = { uid, path, directoryName: spec.directoryName };
      const marker = markerOf(spec.directoryName);
      const medium = kind.inMemory
        ? ({ kind: 'memory', sizeBytes: memoryBytes(deps.allocatable()) } as const)
        : ({ kind: 'disk' } as const);
      const was = await makeOwnDirectory(deps, volume, { marker, medium, again });
      const nested = was === 'complete' ? [] : nestedMountPoints(pod, spec.name);
      const { fsGroup } = owner;
      const options = { fsGroup, nested, isNew: was === 'new', inMemory: kind.inMemory };
      await host.writeContent(path, content, options);
      if (was !== 'complete') await markComplete(deps, uid, marker);
      return givenAt(path);
    },
    tearDown: async (volume) =>
      await removeOwnDirectory(deps, volume, {
        marker: markerOf(volume.directoryName),
        remains: kind.inMemory ? 'mount' : 'own-files',
      }),
    async reconstruct(volume) {
      const { path, uid, directoryName } = volume;
      const isThere = !kind.inMemory || (await host.isMountedAs(path, 'tmpfs'));
      const isComplete = isThere && (await isMarkedComplete(deps, uid, markerOf(directoryName)));
      return isComplete ? givenAt(path) : undefined;
    },
    stats: async (path, signal) => await ownDirectoryStats(host, path, signal),
  };
}

function givenAt(path: string): SetUpVolume {
  return { place: { kind: 'path', path }, readOnly: true, managed: true };
}
