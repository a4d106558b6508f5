// Creates directories of the plugin, with upstream's mode on every level: only the kubelet's user may reach what drivers put there,
// such as nodes of block devices. Upstream: os.MkdirAll with 0750 throughout pkg/volume/csi.
import type { VolumeHost } from '../../api/ports/volume-host.ts';
import type { VolumeLayout } from '../layout.ts';
import { csiDir } from './paths.ts';

export const directoryMode = 0o750;

/** A path below the plugin's directory. */
export async function makePluginDirectory(
  host: Pick<VolumeHost, 'makeDirectory'>,
  layout: VolumeLayout,
  path: string,
): Promise<void> {
  const root = csiDir(layout);
  const names = path.slice(root.length + 1).split('/');
  for (let depth = 0; depth <= names.length; depth++)
    await host.makeDirectory([root, ...names.slice(0, depth)].join('/'), directoryMode);
}
