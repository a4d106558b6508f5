// The secrets and service account tokens that a driver is given. Upstream: getCredentialsFromSecret in csi_util.go,
// podServiceAccountTokenAttrs in csi_mounter.go.
// Invariant: an error names the secret and its key, never a value.
import type { CSIDriver, Pod, SecretReference, TokenRequest } from '../../api/k8s/types.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import type { CsiPluginDeps } from './deps.ts';
import { named, refuse } from './failure.ts';

/** Empty if no secret is referred to. */
export async function readSecret(
  { storage }: Pick<CsiPluginDeps, 'storage'>,
  reference: SecretReference | undefined,
  signal: AbortSignal,
): Promise<Record<string, string>> {
  if (reference === undefined) return {};
  const { name = '', namespace = '' } = reference;
  const { data = {} } = await storage.volumeSecret(namespace, name, signal).catch((err: unknown) => {
    const kind = err instanceof KubeletError ? err.kind : 'internal';
    const what = `failed to find the secret ${name} in the namespace ${namespace} with error: `;
    throw new KubeletError(kind, 'FailedMount', `${named(what)}${describeError(err)}`, { cause: err });
  });
  const texts = Object.entries(data).map(
    ([key, value]) => [key, utf8(value, `key "${key}" of secret ${namespace}/${name}`)] as const,
  );
  return Object.fromEntries(texts);
}

// differs from upstream: it names the value that cannot be sent, instead of failing to encode the whole request.
function utf8(base64: string, what: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(base64, 'base64'));
  } catch {
    return refuse(`the value of ${what} is not UTF-8, which is all that CSI drivers can be given`);
  }
}

const tokensKey = 'csi.storage.k8s.io/serviceAccount.tokens';

export interface DriverTokens {
  /** Into the secrets of the request, instead of its volume context. */
  readonly inSecrets: boolean;
  readonly fields: Readonly<Record<string, string>>;
}

/** The tokens that the CSIDriver requests, bound to the pod, by audience. */
export async function readTokens(
  { objects }: Pick<CsiPluginDeps, 'objects'>,
  driver: CSIDriver | undefined,
  pod: Pod,
  signal: AbortSignal,
): Promise<DriverTokens> {
  const { serviceAccountTokenInSecrets, tokenRequests = [] } = driver?.spec ?? {};
  const inSecrets = serviceAccountTokenInSecrets === true;
  if (tokenRequests.length === 0) return { inSecrets, fields: {} };
  const { name = '', namespace = '', uid = '' } = pod.metadata ?? {};
  const tokens = new Map<string, TokenRequest['status']>();
  for (const { audience, expirationSeconds } of tokenRequests) {
    const request = {
      spec: {
        audiences: audience === '' ? [] : [audience],
        ...(expirationSeconds === undefined ? {} : { expirationSeconds }),
        boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid },
      },
    };
    const account = pod.spec?.serviceAccountName ?? '';
    const { status } = await objects.serviceAccountToken(namespace, account, request, signal);
    if (!status?.token)
      throw new KubeletError(
        'unavailable',
        'FailedMount',
        'the API server returned a TokenRequest without a token',
      );
    tokens.set(audience, status);
  }
  const byAudience = [...tokens].sort(([a], [b]) => (a < b ? -1 : 1));
  const text = JSON.stringify(
    Object.fromEntries(
      byAudience.map(([audience, status]) => [
        audience,
        { token: status?.token, expirationTimestamp: status?.expirationTimestamp },
      ]),
    ),
  );
  return { inSecrets, fields: { [tokensKey]: text } };
}
