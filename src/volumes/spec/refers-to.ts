// Finds out whether the content of a volume comes from a given API object. Pure.
import type { Pod, Volume } from '../../api/k8s/types.ts';
import type { ChangedObject } from '../../api/ports/pod-objects.ts';
import type { VolumePlugin, VolumeSpec } from '../plugin.ts';

export function refersTo(
  plugins: readonly VolumePlugin[],
  pod: Pod,
  volume: Volume,
  { kind, namespace, name }: ChangedObject,
): boolean {
  const references = pluginOf(plugins, volume)?.references(pod, unresolvedSpec(volume)) ?? [];
  return references.some((each) => each.kind === kind && each.namespace === namespace && each.name === name);
}

/** Matches the pod's own definition of the volume. Undefined for a claim, whose plugin is unknown until it is resolved. */
function pluginOf(plugins: readonly VolumePlugin[], volume: Volume): VolumePlugin | undefined {
  const spec = unresolvedSpec(volume);
  return plugins.find((each) => each.canServe(spec));
}

function unresolvedSpec({ name, ...source }: Volume): VolumeSpec {
  return {
    name,
    directoryName: name,
    source,
    readOnly: false,
    mountOptions: [],
    persistent: undefined,
    isBlock: false,
  };
}
