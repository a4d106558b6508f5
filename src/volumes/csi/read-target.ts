// Which volume is in a pod's directory, by what is on disk. Upstream: loadVolumeData, whose failure leaves the volume mounted forever.
// Invariant: a volume that is mounted in the pod's directory and staged is found although its vol_data.json is damaged or missing.
import { settleAll } from '../../base/abort/settle-all.ts';
import type { VolumeOnDisk } from '../plugin.ts';
import type { CsiContext } from './deps.ts';
import { isDriverName, uniqueName } from './names.ts';
import { stagedAt, stagingDirectoryPaths, stagingPaths, targetPaths } from './paths.ts';
import { isMounted } from './remove-files.ts';
import { type DataOnDisk, readVolumeData } from './vol-data.ts';

type ReadDeps = Pick<CsiContext, 'layout' | 'ownership'>;

export async function readTarget(
  deps: ReadDeps,
  { directoryName: specName, path }: VolumeOnDisk,
): Promise<DataOnDisk> {
  const { host } = deps.ownership;
  const { data, mount } = targetPaths(path);
  const found = await readVolumeData(host, data, { specName });
  if (found.kind === 'valid' || !(await isMounted(host, mount))) return found;
  return (await readStaged(deps, mount)) ?? found;
}

/** The staged volume whose mount this is; undefined if there is none, or more than one. */
async function readStaged({ layout, ownership }: ReadDeps, mount: string): Promise<DataOnDisk | undefined> {
  const { host } = ownership;
  const places = (await host.mountReferences(mount)).flatMap((path) => stagedAt(path) ?? []);
  const found = await settleAll(
    places
      .filter(({ driver }) => isDriverName(driver))
      .map(async ({ driver, name }) => {
        const paths = stagingDirectoryPaths(layout, driver, name);
        const staged = await readVolumeData(host, paths.data);
        const isOwn =
          staged.kind === 'valid' && stagingPaths(layout, staged.data).directory === paths.directory;
        return isOwn ? [staged] : [];
      }),
  );
  const [first] = found.flat();
  const names = new Set(found.flat().map(({ data }) => uniqueName(data)));
  return names.size === 1 ? first : undefined;
}
