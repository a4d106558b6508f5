// Finds the volumes that drivers have staged on this node, by what is on disk. Upstream finds them only through the directories
// of pods, so that a volume whose pod's directory is gone stays staged forever.
// Invariants: a name from disk is checked before it becomes part of a path; a directory counts only if it is the one that the
// volume named in it has; empty directories of an interrupted set-up or release are removed, nothing else.
import { settleAll } from '../../base/abort/settle-all.ts';
import type { OwnershipDeps } from '../ownership.ts';
import type { CsiContext } from './deps.ts';
import { type CsiVolumeId, isDriverName } from './names.ts';
import {
  type BlockPaths,
  blockDir,
  blockPaths,
  csiDir,
  driverDir,
  type MountPaths,
  stagingDirectoryPaths,
  stagingPaths,
} from './paths.ts';
import { isMounted } from './remove-files.ts';
import { readVolumeData } from './vol-data.ts';

export interface BlockVolume extends CsiVolumeId {
  readonly paths: BlockPaths;
}

/** File system volumes that are staged, or were when a kubelet was killed. */
export async function findStaged({ layout, ownership }: CsiContext): Promise<readonly CsiVolumeId[]> {
  const { host, log } = ownership;
  const drivers = (await host.listDirectories(csiDir(layout))).filter(isDriverName);
  const perDriver = await settleAll(
    drivers.map(async (driver) => {
      const names = await host.listDirectories(driverDir(layout, driver));
      return await settleAll(
        names.map(async (name): Promise<readonly CsiVolumeId[]> => {
          const paths = stagingDirectoryPaths(layout, driver, name);
          const found = await readVolumeData(host, paths.data);
          if (found.kind === 'none') await removeEmptyStaging(ownership, paths);
          const isOwn =
            found.kind === 'valid' && stagingPaths(layout, found.data).directory === paths.directory;
          if (isOwn) return [found.data];
          if (await isMounted(host, paths.mount))
            log.warn(
              'Found a staged CSI volume whose vol_data.json does not name it, only its driver can unmount it',
              {
                path: paths.directory,
              },
            );
          return [];
        }),
      );
    }),
  );
  return perDriver.flat(2);
}

export async function findBlockVolumes({ layout, ownership }: CsiContext): Promise<readonly BlockVolume[]> {
  const found = await settleAll(
    (await ownership.host.listDirectories(blockDir(layout))).map(async (specName) => {
      const paths = blockPaths(layout, specName);
      const data = await readVolumeData(ownership.host, paths.data, { specName });
      return data.kind === 'valid' ? [{ ...data.data, paths }] : [];
    }),
  );
  return found.flat();
}

/** Empty directories of block volumes. */
export async function removeEmptyBlocks({ layout, ownership }: CsiContext): Promise<void> {
  const { host } = ownership;
  // These two hold the directories of all volumes.
  const names = (await host.listDirectories(blockDir(layout))).filter(
    (name) => name !== 'staging' && name !== 'publish',
  );
  await settleAll(
    names.map(async (name) => {
      const { data, dataDir, directory } = blockPaths(layout, name);
      if ((await readVolumeData(host, data)).kind === 'none')
        await removeEmpty(ownership, [dataDir, directory]);
    }),
  );
}

/** The Go kubelet leaves these of drivers that do not stage volumes. */
async function removeEmptyStaging(deps: OwnershipDeps, { directory, mount }: MountPaths): Promise<void> {
  if (!(await isMounted(deps.host, directory))) await removeEmpty(deps, [mount, directory]);
}

/** A directory that cannot be removed does no harm. */
async function removeEmpty({ host, log }: OwnershipDeps, paths: readonly string[]): Promise<void> {
  try {
    for (const path of paths) await host.removeEmptyOfPlugin(path);
  } catch (err) {
    log.v(2).info('Failed to remove a directory that an earlier kubelet left', { path: paths.at(-1), err });
  }
}
