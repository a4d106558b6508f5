// The service account token that a credential provider plugin gets, if its configuration requests one.
// Upstream: serviceAccountProvider in pkg/credentialprovider/plugin/plugin.go.
import type { Pod, ServiceAccount, TokenRequest } from '../../api/k8s/types.ts';
import { KubeletError } from '../../base/errors.ts';
import { Secret } from '../../base/log/secret.ts';
import type { Coordinates } from './keyring.ts';
import type { PluginResponse } from './plugin-protocol.ts';

export interface CredentialObjects {
  serviceAccount(namespace: string, name: string, signal: AbortSignal): Promise<ServiceAccount>;
  serviceAccountToken(
    namespace: string,
    serviceAccount: string,
    request: TokenRequest,
    signal: AbortSignal,
  ): Promise<TokenRequest>;
}

export interface TokenAttributes {
  readonly serviceAccountTokenAudience: string;
  readonly cacheType: string;
  readonly requireServiceAccount?: boolean | undefined;
  readonly requiredServiceAccountAnnotationKeys: readonly string[];
  readonly optionalServiceAccountAnnotationKeys: readonly string[];
}

export interface PodToken {
  readonly token: Secret;
  readonly serviceAccount: Coordinates;
  readonly annotations: Readonly<Record<string, string>>;
  /** `Token`: responses are cached for this token only. */
  readonly cacheType: string;
  /** Throws if the plugin returns the token as the password: it would be cached for other pods of the account. */
  rejectEchoedToken(response: PluginResponse): void;
}

/** Undefined: the plugin runs without a token. */
export async function podToken(
  attributes: TokenAttributes | undefined,
  objects: CredentialObjects,
  pod: Pod,
  signal: AbortSignal,
): Promise<PodToken | 'not-for-this-pod' | undefined> {
  if (attributes === undefined) return undefined;
  const name = pod.spec?.serviceAccountName ?? '';
  if (name === '') return attributes.requireServiceAccount === true ? 'not-for-this-pod' : undefined;
  const namespace = pod.metadata?.namespace ?? 'default';
  const account = await objects.serviceAccount(namespace, name, signal);
  const annotations = annotationsFor(attributes, account.metadata?.annotations ?? {});
  // An account opts out by not having a required annotation.
  if (annotations === undefined) return 'not-for-this-pod';
  const uid = account.metadata?.uid ?? '';
  const token = await requestToken(attributes, objects, pod, { uid, namespace, name }, signal);
  const { cacheType } = attributes;
  return {
    token,
    serviceAccount: { uid, namespace, name },
    annotations,
    cacheType,
    rejectEchoedToken: ({ auth }) => {
      if (cacheType === 'Token') return;
      for (const { password } of auth.values()) {
        if (password.reveal() !== token.reveal()) continue;
        throw new KubeletError(
          'invalid',
          'CredentialProviderFailed',
          "the plugin returned the service account token as the password, which is not allowed when the cache type is not 'Token'",
        );
      }
    },
  };
}

/** Undefined if a required annotation is missing. */
function annotationsFor(
  attributes: TokenAttributes,
  given: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> | undefined {
  const required = attributes.requiredServiceAccountAnnotationKeys;
  if (required.some((key) => given[key] === undefined)) return undefined;
  const keys = [...required, ...attributes.optionalServiceAccountAnnotationKeys];
  return Object.fromEntries(
    keys.flatMap((key) => {
      const value = given[key];
      return value === undefined ? [] : [[key, value] as const];
    }),
  );
}

async function requestToken(
  attributes: TokenAttributes,
  objects: CredentialObjects,
  pod: Pod,
  account: Coordinates,
  signal: AbortSignal,
): Promise<Secret> {
  const { name, uid } = pod.metadata ?? {};
  const request = {
    metadata: { uid: account.uid },
    spec: {
      audiences: [attributes.serviceAccountTokenAudience],
      boundObjectRef: {
        apiVersion: 'v1',
        kind: 'Pod',
        ...(name === undefined ? {} : { name }),
        ...(uid === undefined ? {} : { uid }),
      },
    },
  };
  const { status } = await objects.serviceAccountToken(account.namespace, account.name, request, signal);
  const token = status?.token ?? '';
  if (token === '')
    throw new KubeletError('internal', 'CredentialProviderFailed', 'the service account token is empty');
  return new Secret(token);
}
