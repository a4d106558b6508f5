// Unmounts and removes all volumes of a pod, as found on disk and in the mount table, not in memory. It therefore also cleans up
// after an earlier kubelet process. Upstream: UnmountVolume of the operation executor, doCleanSubPaths, reconstruct.go.
// Invariants: subPaths are unmounted before their volumes; a volume that fails does not keep the others from being torn down;
// a volume whose plugin does not exist here is left alone and reported.
import { settleAll } from '../base/abort/settle-all.ts';
import { describeError, isKind, KubeletError } from '../base/errors.ts';
import { tearDownDevice, tearDownWithDevice } from './devices/device-steps.ts';
import { podDir, subPathsDir, volumeDevicesDir, volumesDir } from './layout.ts';
import type { VolumeOperationDeps } from './operation-deps.ts';
import type { VolumePlugin } from './plugin.ts';
import { pluginOfDirectory } from './spec/plugin-directory.ts';
import { observeOperation } from './volume-metrics-port.ts';

/** A volume directory or device link found on disk, with the plugin that created it. */
interface FoundVolume {
  readonly uid: string;
  readonly pluginDir: string;
  readonly directoryName: string;
  readonly path: string;
  readonly isBlock: boolean;
  /** Undefined: no plugin of this name exists. */
  readonly plugin: VolumePlugin | undefined;
}

/** A directory that holds volumes of a pod, or links to their devices. */
interface VolumeRoot {
  readonly path: string;
  readonly isBlock: boolean;
}

interface FoundRoot {
  readonly path: string;
  /** Directories of plugins, also empty ones. */
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
      const plugin = pluginOfDirectory(plugins, pluginDir);
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

/** Devices that were set up for the pod, but are not linked in its directory yet, or no longer. */
function unlinkedDevices(
  { layout, plugins, users }: VolumeOperationDeps,
  uid: string,
  onDisk: readonly FoundVolume[],
): readonly FoundVolume[] {
  const found = new Set(onDisk.map(({ path }) => path));
  const root = `${volumeDevicesDir(layout, uid)}/`;
  return users
    .ofPod(uid)
    .flatMap(({ paths }) => paths)
    .filter((path) => path.startsWith(root) && !found.has(path))
    .map((path) => {
      const [pluginDir = '', directoryName = ''] = path.slice(root.length).split('/');
      const plugin = pluginOfDirectory(plugins, pluginDir);
      return { uid, pluginDir, directoryName, path, isBlock: true, plugin };
    });
}

/** Gets the key of each device that the pod no longer uses, as soon as that is so: other volumes of the pod may fail or hang. */
type OnUnused = (key: string) => void;

/** Tears down as much as it can, then rejects with the failures: `conflict` if a volume is still in use. */
export async function tearDownPod(
  deps: VolumeOperationDeps,
  uid: string,
  onUnused: OnUnused,
  signal: AbortSignal,
): Promise<void> {
  const { host, layout, users } = deps;
  await users.load();
  // A pod without volumes usually has none of these directories, and needs this one call only.
  const parts = await host.listDirectories(podDir(layout, uid));
  if (parts.includes('volume-subpaths')) await tearDownSubPaths(deps, uid);
  const roots = await tearDownVolumes(deps, uid, volumeRoots(deps, uid, parts), onUnused, signal);
  const readyMarkers = parts.includes('plugins')
    ? [`${podDir(layout, uid)}/plugins/kubernetes.io~empty-dir`]
    : [];
  await settleAll([
    ...roots.map(({ path, pluginDirs }) => host.removeEmptyDirectories(path, pluginDirs)),
    ...readyMarkers.map((path) => host.removeTree(path)),
  ]);
  for (const key of forgetDevices(deps, uid)) onUnused(key);
}

/**
 * A set-up that failed may have staged a device without leaving anything in the pod's directory. Does not wait for the lock of the
 * device: a set-up that ignores its abort may hold it, and the release of the device waits for it.
 */
function forgetDevices({ users }: VolumeOperationDeps, uid: string): readonly string[] {
  return users.ofPod(uid).map(({ key, paths }) => {
    for (const path of paths) users.remove(key, path);
    return key;
  });
}

/** Returns the directories that are empty now and can be removed. */
async function tearDownVolumes(
  deps: VolumeOperationDeps,
  uid: string,
  roots: readonly VolumeRoot[],
  onUnused: OnUnused,
  signal: AbortSignal,
): Promise<readonly FoundRoot[]> {
  const found = await settleAll(roots.map((root) => findVolumes(deps, uid, root)));
  const onDisk = found.flatMap((root) => root.volumes);
  const volumes = [...onDisk, ...unlinkedDevices(deps, uid, onDisk)];
  const results = await Promise.allSettled(
    volumes.map((volume) => tearDownVolume(deps, volume, onUnused, signal)),
  );
  signal.throwIfAborted();
  const failures = results.flatMap((result) =>
    result.status === 'rejected' ? [result.reason as unknown] : [],
  );
  if (failures.length > 0) throw unmountFailure(failures);
  return found;
}

async function tearDownVolume(
  deps: VolumeOperationDeps,
  volume: FoundVolume,
  onUnused: OnUnused,
  signal: AbortSignal,
): Promise<void> {
  const { plugin, directoryName, pluginDir } = volume;
  try {
    if (plugin === undefined)
      throw new KubeletError('invalid', 'UnknownVolume', `no volume plugin matched directory ${pluginDir}`);
    const operation = {
      plugin: (await plugin.labelOnDisk?.(volume)) ?? plugin.name,
      operation: volume.isBlock ? 'unmap_volume' : 'volume_unmount',
    } as const;
    const key = await observeOperation(deps, operation, () =>
      tearDownWithDevice(deps, plugin, volume, signal, () =>
        volume.isBlock ? tearDownDevice(deps, plugin, volume, signal) : plugin.tearDown(volume, signal),
      ),
    );
    if (key !== undefined) onUnused(key);
  } catch (err) {
    if (signal.aborted) throw err;
    const kind = err instanceof KubeletError ? err.kind : 'internal';
    const step = volume.isBlock ? 'UnmapVolume.UnmapBlockVolume' : 'UnmountVolume.TearDown';
    const message = `${step} failed for volume "${directoryName}" : ${describeError(err)}`;
    throw new KubeletError(kind, 'FailedUnmount', message, { cause: err });
  }
}

/** `volume-subpaths/<volume>/<container>/<index>`: bind mounts of files and directories. The deepest are unmounted first. */
async function tearDownSubPaths({ host, layout }: VolumeOperationDeps, uid: string): Promise<void> {
  const root = subPathsDir(layout, uid);
  const mounts = await host.mountsBelow(root);
  for (const { path } of mounts.toSorted((a, b) => b.path.length - a.path.length)) await host.unmount(path);
  await host.removeTree(root);
}

function unmountFailure(failures: readonly unknown[]): unknown {
  if (failures.length === 1) return failures[0];
  const kind = failures.some((err) => isKind(err, 'conflict')) ? 'conflict' : 'internal';
  const message = failures.map((err) => describeError(err)).join('; ');
  return new KubeletError(kind, 'FailedUnmount', message, { cause: failures[0] });
}
