// The local plugin: bind-mounts a directory of this node, named by a PersistentVolume, into the pod. Upstream: pkg/volume/local.
// A block device is either passed through, or its file system is mounted once for all pods; an empty device is formatted first.
// Invariant: user data is never removed; the mount point is removed only when it is empty.
import type { VolumeHost } from '../../api/ports/volume-host.ts';
import { KubeletError } from '../../base/errors.ts';
import { fileSystemExpansion } from '../expansion/grow-file-system.ts';
import { localMountDir, localMountsDir, type VolumeLayout } from '../layout.ts';
import type { MountedVolumes } from '../mounted-volumes.ts';
import { applyFsGroup, type OwnershipDeps } from '../ownership.ts';
import { pluginDefaults, type VolumePlugin, type VolumeSpec } from '../plugin.ts';
import { mountedStats } from '../stats/mounted-stats.ts';

interface LocalDeps extends OwnershipDeps {
  readonly layout: VolumeLayout;
  readonly mounts: Pick<MountedVolumes, 'isMountedByOtherPod'>;
}

export function localPlugin(deps: LocalDeps): VolumePlugin {
  const { host, layout } = deps;
  return {
    ...pluginDefaults,
    name: 'kubernetes.io/local-volume',
    supportsMountOptions: true,
    // Applying the fsGroup may have to change millions of files.
    deadlineMs: Number.POSITIVE_INFINITY,
    canServe: ({ source }) => source.local !== undefined,
    // The first pod that mounts it applies the fsGroup, so set-ups must not run concurrently.
    deviceKey: ({ directoryName }) => keyOf(directoryName),
    expansion: fileSystemExpansion(host, async ({ spec }) => {
      const path = checkedPath(spec);
      return (await host.kindOf(path)) === 'block-device' ? path : undefined;
    }),
    block: { setUp: async ({ spec }) => await checkedDevice(host, spec), tearDown: () => Promise.resolve() },
    nodeDevices: {
      // Volumes that are plain directories have no global mount.
      keyOf: async ({ directoryName }) =>
        (await host.kindOf(localMountDir(layout, directoryName))) === undefined
          ? undefined
          : keyOf(directoryName),
      list: async () => (await host.listDirectories(localMountsDir(layout))).map(keyOf),
      release: async (key) => await host.unmountDevice(localMountDir(layout, key.slice(keyOf('').length))),
    },
    async setUp(request, signal) {
      const { pod, spec, path } = request;
      const { readOnly } = spec;
      const done = { location: { kind: 'path', path }, readOnly, managed: !readOnly } as const;
      const isExclusive =
        !spec.readOnly && !deps.mounts.isMountedByOtherPod(spec.directoryName, pod.metadata?.uid ?? '');
      if ((await host.mountsBelow(path)).some((mount) => mount.path === path)) {
        // The walk changes the root last. A root with another group means that an interrupted walk has to be completed.
        if (isExclusive)
          await applyFsGroup(deps, request, { readOnly: false, onlyOnRootMismatch: true }, signal);
        return done;
      }
      const directory = await directoryOf(deps, spec, signal);
      await host.makeDirectory(path, 0o750);
      try {
        await host.bind(directory, path, { readOnly: spec.readOnly });
      } catch (err) {
        await host.removeEmpty(path);
        throw err;
      }
      const { onlyOnRootMismatch } = request.owner;
      if (isExclusive) await applyFsGroup(deps, request, { readOnly: false, onlyOnRootMismatch }, signal);
      return done;
    },
    async tearDown({ path }) {
      await host.unmount(path);
      await host.removeEmpty(path);
    },
    stats: async (path) => await mountedStats(host, path),
  };
}

function keyOf(persistentVolume: string): string {
  return `local-volume/${persistentVolume}`;
}

function checkedPath({ source }: VolumeSpec): string {
  const path = source.local?.path ?? '';
  if (path.startsWith('/') && !path.split('/').includes('..')) return path;
  throw new KubeletError('invalid', 'FailedMount', `invalid path: ${path}`);
}

async function checkedDevice(host: VolumeHost, spec: VolumeSpec): Promise<string> {
  const path = checkedPath(spec);
  if ((await host.kindOf(path)) === 'block-device') return path;
  throw new KubeletError('invalid', 'FailedMapVolume', `${path} is not a block device`);
}

/** The directory to bind: the path itself, or the global mount of the device's file system. */
async function directoryOf(
  { host, layout }: LocalDeps,
  spec: VolumeSpec,
  signal: AbortSignal,
): Promise<string> {
  const path = checkedPath(spec);
  const kind = await host.kindOf(path);
  if (kind === 'directory') return path;
  if (kind !== 'block-device')
    throw new KubeletError('invalid', 'FailedMount', 'only directory and block device are supported');
  const target = localMountDir(layout, spec.directoryName);
  if ((await host.mountsBelow(target)).some((mount) => mount.path === target)) return target;
  const { readOnly, mountOptions: options, source } = spec;
  const fsType = source.local?.fsType ?? '';
  await host.mountDevice({ device: path, target, fsType, options, readOnly }, signal);
  return target;
}
