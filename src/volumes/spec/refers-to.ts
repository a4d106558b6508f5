// Whether a volume's content comes from an object of the cluster. Pure.
import type { Pod, Volume } from '../../api/k8s/types.ts';
import type { ChangedObject } from '../../api/ports/pod-objects.ts';
import type { VolumePlugin, VolumeSpec } from '../plugin.ts';

export function refersTo(
  plugins: readonly VolumePlugin[],
  pod: Pod,
  volume: Volume,
  { kind, namespace, name }: ChangedObject,
): boolean {
  const references = pluginOf(plugins, volume)?.references(pod, plainSpec(volume)) ?? [];
  return references.some((each) => each.kind === kind && each.namespace === namespace && each.name === name);
}

/** By what the pod itself says: a claim's is not known before it was followed. */
export function pluginOf(plugins: readonly VolumePlugin[], volume: Volume): VolumePlugin | undefined {
  const spec = plainSpec(volume);
  return plugins.find((each) => each.canServe(spec));
}

function plainSpec({ name, ...source }: Volume): VolumeSpec {
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
