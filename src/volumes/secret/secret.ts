// The secret plugin: writes the keys of a Secret to files in memory, never to disk. Upstream: pkg/volume/secret.
import type { Secret, SecretProjection } from '../../api/k8s/types.ts';
import type { PodObjects } from '../../api/ports/pod-objects.ts';
import type { Content } from '../../api/ports/volume-host.ts';
import { isKind, KubeletError } from '../../base/errors.ts';
import type { ContentKind } from '../content/content-volume.ts';
import { apiDefaultMode, keyContent } from '../content/key-content.ts';

type SecretObjects = Pick<PodObjects, 'secret'>;

export function secretKind(objects: SecretObjects): ContentKind {
  return {
    name: 'kubernetes.io/secret',
    inMemory: true,
    canServe: ({ source }) => source.secret !== undefined,
    references: (pod, { source }) => [
      { kind: 'Secret', namespace: pod.metadata?.namespace ?? '', name: source.secret?.secretName ?? '' },
    ],
    collect: async ({ pod, spec }, signal) => {
      const { defaultMode = apiDefaultMode, secretName: name, ...rest } = spec.source.secret ?? {};
      const projection = { ...rest, ...(name === undefined ? {} : { name }) };
      return await secretContent(objects, pod.metadata?.namespace ?? '', projection, defaultMode, signal);
    },
  };
}

export async function secretContent(
  objects: SecretObjects,
  namespace: string,
  { name = '', items, optional = false }: SecretProjection,
  defaultMode: number,
  signal: AbortSignal,
): Promise<Content> {
  const { data = {} } = await findSecret(objects, namespace, name, optional, signal);
  const bytes = Object.entries(data).map(([key, text]) => [key, Buffer.from(text, 'base64')] as const);
  const selection = { items, defaultMode, optional };
  return keyContent(new Map(bytes), selection, (key) => `references non-existent secret key: ${key}`);
}

async function findSecret(
  objects: SecretObjects,
  namespace: string,
  name: string,
  optional: boolean,
  signal: AbortSignal,
): Promise<Secret> {
  const found = await objects.secret(namespace, name, signal).catch((err: unknown) => {
    if (isKind(err, 'not-found')) return undefined;
    throw err;
  });
  if (found !== undefined) return found;
  if (optional) return {};
  throw new KubeletError('not-found', 'FailedMount', `secret "${name}" not found`);
}
