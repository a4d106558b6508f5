// Takes down everything of a pod's volumes from what is on disk and in the mount table, not from memory: that also ends what
// an earlier life of the kubelet began. Upstream: UnmountVolume of the operation executor, doCleanSubPaths, reconstruct.go.
// Invariants: sub-paths go before the volumes they are parts of; one volume that cannot be taken down does not keep the others;
// a kind of volume that nobody here knows is left alone and named.
import { settleAll } from '../base/abort/settle-all.ts';
import { describeError, isKind, KubeletError } from '../base/errors.ts';
import { tearDownDevice, withNodeStep } from './devices/device-steps.ts';
import { pluginDirName, podDir, subPathsDir, volumeDevicesDir, volumesDir } from './layout.ts';
import type { VolumeOperationDeps } from './operation-deps.ts';
import type { VolumePlugin } from './plugin.ts';
import { observeOperation } from './volume-metrics-port.ts';

/** A volume's directory, or the link to its device, that was found, with the plugin that made it. */
interface FoundVolume {
  readonly uid: string;
  readonly pluginDir: string;
  readonly directoryName: string;
  readonly path: string;
  readonly isBlock: boolean;
  /** Undefined: of no kind that is known here. */
  readonly plugin: VolumePlugin | undefined;
}

/** Where volumes of a pod are, as directories and as links to devices; only what is there. */
interface VolumeRoot {
  readonly path: string;
  readonly isBlock: boolean;
}

interface FoundRoot {
  readonly path: string;
  /** The kinds of which there are volumes, or were. */
  readonly pluginDirs: readonly string[];
  readonly volumes: readonly FoundVolume[];
}

function volumeRoots(
  { layout }: VolumeOperationDeps,
  uid: string,
  parts: readonly string[],
): readonly VolumeRoot[] {
  return [
    ...(parts.includes('volumes') ? [{ path: volumesDir(layout, uid), isBlock: false }] : []),
    ...(parts.includes('volumeDevices') ? [{ path: volumeDevicesDir(layout, uid), isBlock: true }] : []),
  ];
}

async function findVolumes(deps: VolumeOperationDeps, uid: string, root: VolumeRoot): Promise<FoundRoot> {
  const { host, plugins } = deps;
  const { isBlock, path } = root;
  const pluginDirs = await host.listDirectories(path);
  const volumes = await settleAll(
    pluginDirs.map(async (pluginDir) => {
      const plugin = plugins.find(({ name }) => pluginDirName(name) === pluginDir);
      const at = `${path}/${pluginDir}`;
      const names = await (isBlock ? host.listLinks(at) : host.listDirectories(at));
      return names.map((name) => ({
        uid,
        pluginDir,
        directoryName: name,
        path: `${at}/${name}`,
        isBlock,
        plugin,
      }));
    }),
  );
  return { path, pluginDirs, volumes: volumes.flat() };
}

/** Rejects, having done what it could, with `conflict` when something is still in use. */
export async function tearDownPod(
  deps: VolumeOperationDeps,
  uid: string,
  signal: AbortSignal,
): Promise<void> {
  const { host, layout } = deps;
  // Most pods without volumes have none of these, and are done with one look.
  const parts = await host.listDirectories(podDir(layout, uid));
  if (parts.includes('volume-subpaths')) await tearDownSubPaths(deps, uid);
  const roots = await tearDownVolumes(deps, uid, volumeRoots(deps, uid, parts), signal);
  const marks = parts.includes('plugins') ? [`${podDir(layout, uid)}/plugins/kubernetes.io~empty-dir`] : [];
  await settleAll([
    ...roots.map(({ path, pluginDirs }) => host.removeEmptyDirectories(path, pluginDirs)),
    ...marks.map((path) => host.removeTree(path)),
  ]);
}

/** Says what is empty now and can go. */
async function tearDownVolumes(
  deps: VolumeOperationDeps,
  uid: string,
  roots: readonly VolumeRoot[],
  signal: AbortSignal,
): Promise<readonly FoundRoot[]> {
  const found = await settleAll(roots.map((root) => findVolumes(deps, uid, root)));
  const volumes = found.flatMap((root) => root.volumes);
  const ends = await Promise.allSettled(volumes.map((volume) => tearDownVolume(deps, volume, signal)));
  signal.throwIfAborted();
  const failures = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []));
  if (failures.length > 0) throw stillThere(failures);
  return found;
}

async function tearDownVolume(
  deps: VolumeOperationDeps,
  volume: FoundVolume,
  signal: AbortSignal,
): Promise<void> {
  const { plugin, directoryName, pluginDir } = volume;
  try {
    if (plugin === undefined)
      throw new KubeletError('invalid', 'UnknownVolume', `volumes of ${pluginDir} are not known here`);
    const operation = {
      plugin: plugin.name,
      operation: volume.isBlock ? 'unmap_volume' : 'volume_unmount',
    } as const;
    await observeOperation(deps, operation, () =>
      withNodeStep(deps, plugin, volume, signal, () =>
        volume.isBlock ? tearDownDevice(deps, plugin, volume, signal) : plugin.tearDown(volume, signal),
      ),
    );
  } catch (err) {
    if (signal.aborted) throw err;
    const kind = err instanceof KubeletError ? err.kind : 'internal';
    const what = volume.isBlock ? 'UnmapVolume.UnmapBlockVolume' : 'UnmountVolume.TearDown';
    const message = `${what} failed for volume "${directoryName}" : ${describeError(err)}`;
    throw new KubeletError(kind, 'FailedUnmount', message, { cause: err });
  }
}

/** `volume-subpaths/<volume>/<container>/<index>`: bound files and directories, and empty ones under them. */
async function tearDownSubPaths({ host, layout }: VolumeOperationDeps, uid: string): Promise<void> {
  const root = subPathsDir(layout, uid);
  const mounts = await host.mountsBelow(root);
  for (const { path } of mounts.toSorted((a, b) => b.path.length - a.path.length)) await host.unmount(path);
  await host.removeTree(root);
}

function stillThere(failures: readonly unknown[]): unknown {
  if (failures.length === 1) return failures[0];
  const kind = failures.some((err) => isKind(err, 'conflict')) ? 'conflict' : 'internal';
  const message = failures.map((err) => describeError(err)).join('; ');
  return new KubeletError(kind, 'FailedUnmount', message, { cause: failures[0] });
}
