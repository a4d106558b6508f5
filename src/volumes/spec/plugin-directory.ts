// The directory of a plugin's volumes in the directory of a pod. Pure. Upstream: EscapeQualifiedName of the plugin's name.
import { pluginDirName } from '../layout.ts';
import type { VolumePlugin, VolumeSpec } from '../plugin.ts';

export function pluginDirectory(plugin: VolumePlugin, spec: VolumeSpec): string {
  return plugin.directoryOf?.(spec) ?? pluginDirName(plugin.name);
}

/** The plugin that created the volumes in this directory. */
export function pluginOfDirectory(
  plugins: readonly VolumePlugin[],
  directory: string,
): VolumePlugin | undefined {
  return (
    plugins.find(({ name }) => pluginDirName(name) === directory) ??
    plugins.find((plugin) => plugin.servesDirectory?.(directory) === true)
  );
}
