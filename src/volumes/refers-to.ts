// Whether a volume's content comes from an object of the cluster. Pure.
import type { Pod, Volume } from '../api/k8s.ts';
import type { ChangedObject } from '../api/pod-objects.ts';
import type { VolumePlugin } from './plugin.ts';

export function refersTo(
  plugins: readonly VolumePlugin[],
  pod: Pod,
  volume: Volume,
  { kind, namespace, name }: ChangedObject,
): boolean {
  const { name: volumeName, ...source } = volume;
  const spec = {
    name: volumeName,
    directoryName: volumeName,
    source,
    readOnly: false,
    mountOptions: [],
    persistent: undefined,
  };
  const plugin = plugins.find((each) => each.canServe(spec));
  return (plugin?.references(pod, spec) ?? []).some(
    (each) => each.kind === kind && each.namespace === namespace && each.name === name,
  );
}
