// The emptyDir plugin: a directory with the lifetime of its pod, on disk, in memory or in huge pages. Upstream: pkg/volume/emptydir.
import type { Pod } from '../../api/k8s/types.ts';
import { initAndRegularContainers } from '../../api/pod/find-container.ts';
import type { Allocatable } from '../../api/pod/pod-fields.ts';
import { hasPodLevelResources, podLimits } from '../../api/pod/resources.ts';
import { Quantity } from '../../api/quantity/quantity.ts';
import { amountOf } from '../../api/quantity/resource-amounts.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import {
  type ManagedDirectoryDeps,
  type Medium,
  makeManagedDirectory,
  managedDirectoryStats,
  markComplete,
  memoryBytes,
  removeManagedDirectory,
} from '../content/managed-directory.ts';
import { applyFsGroup, type OwnershipDeps } from '../ownership.ts';
import { pluginDefaults, type VolumePlugin } from '../plugin.ts';

interface EmptyDirDeps extends ManagedDirectoryDeps, OwnershipDeps {
  /** The node's allocatable resources; their memory bounds a volume in memory. */
  readonly allocatable: () => Allocatable;
  /** Whether project quotas measure the usage: gates LocalStorageCapacityIsolationFSQuotaMonitoring and UserNamespacesSupport. */
  readonly countByProject: boolean;
}

export function emptyDirPlugin(deps: EmptyDirDeps): VolumePlugin {
  const { host } = deps;
  return {
    ...pluginDefaults,
    name: 'kubernetes.io/empty-dir',
    canServe: ({ source }) => source.emptyDir !== undefined,
    async setUp(request, signal) {
      const { pod, spec, path, isRemount } = request;
      const uid = pod.metadata?.uid ?? '';
      const medium = emptyDirMedium(pod, spec.source.emptyDir ?? {}, memoryBytes(deps.allocatable()));
      const volume = { uid, path, directoryName: spec.directoryName };
      const own = { marker: spec.directoryName, medium, isRemount };
      const state = await makeManagedDirectory(deps, volume, own);
      if (medium.kind === 'disk' && deps.countByProject) await countByProject(deps, pod, path);
      if (state !== 'complete') {
        await applyFsGroup(deps, request, { readOnly: false, onlyOnRootMismatch: false }, signal);
        await markComplete(deps, uid, spec.directoryName);
      }
      return { location: { kind: 'path', path }, readOnly: false, managed: true };
    },
    async tearDown(volume) {
      await endCounting(deps, volume.path);
      await removeManagedDirectory(deps, volume, { marker: volume.directoryName, remains: 'empty' });
    },
    stats: async (path, signal) => await managedDirectoryStats(host, path, signal),
  };
}

/**
 * Only for pods with user namespaces: a user of the node could move files out of their quota project.
 * differs from upstream: a volume that gets no project is mounted nevertheless, and measured by walking its directory.
 */
async function countByProject({ host, log }: EmptyDirDeps, pod: Pod, path: string): Promise<void> {
  if (pod.spec?.hostUsers !== false) return;
  try {
    const counted = await host.countByProject(path);
    log.v(3).info('Requested a quota project for volume', { path, counted });
  } catch (err) {
    log.warn('Failed to assign a quota project to volume, its usage will be measured by walking it', {
      path,
      err: describeError(err),
    });
  }
}

/** Regardless of the gate, which may have been on when the volume was created. */
async function endCounting({ host, log }: EmptyDirDeps, path: string): Promise<void> {
  try {
    await host.endCounting(path);
  } catch (err) {
    log.warn('Failed to remove the quota project of volume', { path, err: describeError(err) });
  }
}

/** The medium of the directory, and the size of a file system in memory. Pure. */
export function emptyDirMedium(
  pod: Pod,
  source: { readonly medium?: string; readonly sizeLimit?: string },
  allocatableBytes: bigint,
): Medium {
  const { medium = '' } = source;
  if (medium === '') return { kind: 'disk' };
  if (medium === 'Memory')
    return { kind: 'memory', sizeBytes: memorySize(pod, source.sizeLimit, allocatableBytes) };
  if (medium === 'HugePages' || medium.startsWith('HugePages-'))
    return { kind: 'huge-pages', pageSizeBytes: hugePageSize(pod, medium) };
  throw new KubeletError('invalid', 'FailedMount', `unknown storage medium "${medium}"`);
}

/** The minimum of the node's allocatable memory, the pod's memory limit and the volume's sizeLimit. */
function memorySize(pod: Pod, sizeLimit: string | undefined, allocatableBytes: bigint): bigint | undefined {
  const bounds = [
    allocatableBytes,
    podMemoryLimit(pod),
    sizeLimit === undefined ? 0n : Quantity.fromJson(sizeLimit).value(),
  ].filter((bytes) => bytes > 0n);
  return bounds.length === 0 ? undefined : bounds.reduce((least, each) => (each < least ? each : least));
}

/** 0 if a container has no limit. */
function podMemoryLimit(pod: Pod): bigint {
  const all = initAndRegularContainers(pod);
  const bounded =
    (hasPodLevelResources(pod) && pod.spec?.resources?.limits?.['memory'] !== undefined) ||
    all.every(({ resources }) => resources?.limits?.['memory'] !== undefined);
  return bounded ? amountOf(podLimits(pod), 'memory').value() : 0n;
}

const prefix = 'hugepages-';

function hugePageSize(pod: Pod, medium: string): bigint {
  const all = initAndRegularContainers(pod);
  const requests = [pod.spec?.resources?.requests, ...all.map(({ resources }) => resources?.requests)];
  const requested = new Set(
    requests
      .flatMap((list) => Object.keys(list ?? {}))
      .filter((name) => name.startsWith(prefix))
      .map((name) => Quantity.parse(name.slice(prefix.length)).value()),
  );
  const sizes = medium === 'HugePages' ? requested : matching(requested, medium);
  const [size] = sizes;
  if (size === undefined)
    refuse(`medium ${medium}: hugePages storage requested, but there is no resource request for huge pages`);
  if (sizes.size > 1)
    refuse(`medium: ${medium} can't be used if container requests multiple huge page sizes`);
  return size;
}

function matching(requested: ReadonlySet<bigint>, medium: string): ReadonlySet<bigint> {
  const size = Quantity.parse(medium.slice(prefix.length)).value();
  return new Set([...requested].filter((each) => each === size));
}

function refuse(message: string): never {
  throw new KubeletError('invalid', 'FailedMount', message);
}
