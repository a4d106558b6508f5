// The image pull secrets of a pod as a keyring. Upstream: getPullSecretsForPod in kubelet_pods.go and
// pkg/credentialprovider/secrets. Invariant: a missing secret is logged and returned; the pull continues without it.

import type { Pod, Secret as SecretObject } from '../../api/k8s/types.ts';
import { podRef } from '../../api/pod/pod-ref.ts';
import { isAbort, KubeletError } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import { type DockerFormat, parseDockerConfig } from './docker-config.ts';
import { Keyring } from './keyring.ts';

export interface PullSecretsDeps {
  readonly objects: {
    secret(namespace: string, name: string, signal: AbortSignal): Promise<SecretObject>;
  };
  readonly log: Logger;
}

const formats: Readonly<Record<string, { readonly key: string; readonly format: DockerFormat }>> = {
  'kubernetes.io/dockerconfigjson': { key: '.dockerconfigjson', format: 'config.json' },
  'kubernetes.io/dockercfg': { key: '.dockercfg', format: 'dockercfg' },
};

function pullSecretNames(pod: Pod): readonly string[] {
  return (pod.spec?.imagePullSecrets ?? []).flatMap(({ name }) =>
    name === undefined || name === '' ? [] : [name],
  );
}

/** Rejects with ErrImagePull if a secret exists but its content does not match its type. */
export async function pullSecretsKeyring(
  deps: PullSecretsDeps,
  pod: Pod,
  signal: AbortSignal,
): Promise<{ readonly keyring: Keyring; readonly missing: readonly string[] }> {
  const names = pullSecretNames(pod);
  const namespace = pod.metadata?.namespace ?? 'default';
  const secrets = await Promise.all(names.map((name) => fetchSecret(deps, pod, namespace, name, signal)));
  const missing = names.filter((_, index) => secrets[index] === undefined);
  const keyring = new Keyring();
  for (const secret of secrets) if (secret !== undefined) addSecret(keyring, secret);
  return { keyring, missing };
}

async function fetchSecret(
  { log, objects }: PullSecretsDeps,
  pod: Pod,
  namespace: string,
  name: string,
  signal: AbortSignal,
): Promise<SecretObject | undefined> {
  try {
    return await objects.secret(namespace, name, signal);
  } catch (err) {
    if (isAbort(err)) throw err;
    log.warn('Failed to get image pull secret, the pull may not succeed', {
      pod: podRef(pod),
      secret: `${namespace}/${name}`,
      err,
    });
    return undefined;
  }
}

/** differs from upstream: each is hashed, and matched with every image; a secret could hold a hundred thousand. */
const maxRegistries = 1_000;

function addSecret(keyring: Keyring, secret: SecretObject): void {
  const known = formats[secret.type ?? ''];
  const data = known === undefined ? undefined : secret.data?.[known.key];
  if (known === undefined || data === undefined || data === '') return;
  const { uid = '', namespace = '', name = '' } = secret.metadata ?? {};
  try {
    const text = Buffer.from(data, 'base64').toString('utf8');
    const config = parseDockerConfig(text, known.format, maxRegistries);
    keyring.add({ from: 'secret', at: { uid, namespace, name } }, config);
  } catch (err) {
    const message = `image pull secret ${namespace}/${name} cannot be read`;
    throw new KubeletError('invalid', 'ErrImagePull', message, { cause: err });
  }
}
