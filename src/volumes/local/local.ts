// local: a directory of this machine that a PersistentVolume names, bound into the pod's directory. Upstream: pkg/volume/local.
// A block device is given as it is, or its file system is mounted once for all pods, made first where nothing is on it.
// Invariant: what is in it is never removed: the directory of the bind is removed only when it is empty.
import type { VolumeHost } from '../../api/ports/volume-host.ts';
import { KubeletError } from '../../base/errors.ts';
import { localMountDir, localMountsDir, type VolumeLayout } from '../layout.ts';
import type { MountedVolumes } from '../mounted-volumes.ts';
import { applyFsGroup, type OwnershipDeps } from '../ownership.ts';
import { plainPlugin, type VolumePlugin, type VolumeSpec } from '../plugin.ts';
import { mountedStats } from '../stats/mounted-stats.ts';

interface LocalDeps extends OwnershipDeps {
  readonly layout: VolumeLayout;
  readonly mounts: Pick<MountedVolumes, 'isMountedElsewhere'>;
}

export function localPlugin(deps: LocalDeps): VolumePlugin {
  const { host, layout } = deps;
  return {
    ...plainPlugin,
    name: 'kubernetes.io/local-volume',
    // Its files may be given to a group, and there may be millions of them.
    deadlineMs: Number.POSITIVE_INFINITY,
    canServe: ({ source }) => source.local !== undefined,
    // The group of its files is set by the first pod that mounts it, so two must not do it at once.
    deviceKey: ({ directoryName }) => keyOf(directoryName),
    block: { setUp: async ({ spec }) => await checkedDevice(host, spec), tearDown: () => Promise.resolve() },
    node: {
      // Directories share nothing.
      keyOf: async ({ directoryName }) =>
        (await host.kindOf(localMountDir(layout, directoryName))) === undefined
          ? undefined
          : keyOf(directoryName),
      known: async () => (await host.listDirectories(localMountsDir(layout))).map(keyOf),
      release: async (key) => await host.unmountDevice(localMountDir(layout, key.slice(keyOf('').length))),
    },
    async setUp(request, signal) {
      const { pod, spec, path } = request;
      const { readOnly } = spec;
      const done = { place: { kind: 'path', path }, readOnly, managed: !readOnly } as const;
      const isMine =
        !spec.readOnly && !deps.mounts.isMountedElsewhere(spec.directoryName, pod.metadata?.uid ?? '');
      if ((await host.mountsBelow(path)).some((mount) => mount.path === path)) {
        // The root of the walk comes last: as long as it does not fit, a walk that was cut off is to be finished.
        if (isMine) await applyFsGroup(deps, request, { readOnly: false, onlyOnRootMismatch: true }, signal);
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
      if (isMine) await applyFsGroup(deps, request, { readOnly: false, onlyOnRootMismatch }, signal);
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

/** Itself, or where the file system of the device is mounted for all pods. */
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
