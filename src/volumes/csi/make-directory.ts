// Creates directories of the plugin, with upstream's mode on every level: only the kubelet's user may reach what drivers put there,
// such as nodes of block devices. Upstream: os.MkdirAll with 0750 throughout pkg/volume/csi.
import { dirname } from 'node:path';
import type { VolumeHost } from '../../api/ports/volume-host.ts';
import type { VolumeLayout } from '../layout.ts';

export const directoryMode = 0o750;

/** A path below the directory of all plugins. */
export async function makePluginDirectory(
  host: Pick<VolumeHost, 'kindOf' | 'makeDirectory'>,
  { pluginsDir }: VolumeLayout,
  path: string,
): Promise<void> {
  const names = path.slice(pluginsDir.length + 1).split('/');
  // Of the driver's second volume all levels but the last exist.
  const hasParent = (await host.kindOf(dirname(path))) === 'directory';
  for (let depth = hasParent ? names.length : 1; depth <= names.length; depth++)
    await host.makeDirectory([pluginsDir, ...names.slice(0, depth)].join('/'), directoryMode);
}
