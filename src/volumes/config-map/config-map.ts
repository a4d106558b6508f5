// The configMap plugin: writes the keys of a ConfigMap to files on disk. Upstream: pkg/volume/configmap.
import type { ConfigMap, ConfigMapProjection } from '../../api/k8s/types.ts';
import type { PodObjects } from '../../api/ports/pod-objects.ts';
import type { Content } from '../../api/ports/volume-host.ts';
import { isKind, KubeletError } from '../../base/errors.ts';
import type { ContentKind } from '../content/content-volume.ts';
import { apiDefaultMode, keyContent } from '../content/key-content.ts';

type ConfigMapObjects = Pick<PodObjects, 'configMap'>;

export function configMapKind(objects: ConfigMapObjects): ContentKind {
  return {
    name: 'kubernetes.io/configmap',
    inMemory: false,
    canServe: ({ source }) => source.configMap !== undefined,
    references: (pod, { source }) => [
      { kind: 'ConfigMap', namespace: pod.metadata?.namespace ?? '', name: source.configMap?.name ?? '' },
    ],
    collect: async ({ pod, spec }, signal) => {
      const { defaultMode = apiDefaultMode, ...projection } = spec.source.configMap ?? {};
      return await configMapContent(objects, pod.metadata?.namespace ?? '', projection, defaultMode, signal);
    },
  };
}

export async function configMapContent(
  objects: ConfigMapObjects,
  namespace: string,
  { name = '', items, optional = false }: ConfigMapProjection,
  defaultMode: number,
  signal: AbortSignal,
): Promise<Content> {
  const found = await findConfigMap(objects, namespace, name, optional, signal);
  const selection = { items, defaultMode, optional };
  return keyContent(
    dataOf(found),
    selection,
    (key) => `configmap references non-existent config key: ${key}`,
  );
}

async function findConfigMap(
  objects: ConfigMapObjects,
  namespace: string,
  name: string,
  optional: boolean,
  signal: AbortSignal,
): Promise<ConfigMap> {
  const found = await objects.configMap(namespace, name, signal).catch((err: unknown) => {
    if (isKind(err, 'not-found')) return undefined;
    throw err;
  });
  if (found !== undefined) return found;
  if (optional) return {};
  throw new KubeletError('not-found', 'FailedMount', `configmap "${name}" not found`);
}

function dataOf({ data = {}, binaryData = {} }: ConfigMap): ReadonlyMap<string, Uint8Array> {
  return new Map<string, Uint8Array>([
    ...Object.entries(data).map(([key, text]) => [key, Buffer.from(text)] as const),
    ...Object.entries(binaryData).map(([key, text]) => [key, Buffer.from(text, 'base64')] as const),
  ]);
}
