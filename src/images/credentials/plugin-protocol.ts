// What a credential provider program is asked and what it may answer. Pure.
// Upstream: staging/src/k8s.io/kubelet/pkg/apis/credentialprovider and the decoding in pkg/credentialprovider/plugin.
// Invariants: unknown fields are refused; no error repeats a word of the answer, which may hold credentials.
import { parseDuration } from '../../api/k8s/duration.ts';
import { KubeletError } from '../../base/errors.ts';
import { isObject } from '../../base/guards.ts';
import { Secret } from '../../base/log/secret.ts';
import type { DockerConfig, DockerCredential } from './docker-config.ts';

interface PluginRequest {
  readonly image: string;
  readonly serviceAccountToken?: Secret | undefined;
  readonly serviceAccountAnnotations?: Readonly<Record<string, string>> | undefined;
}

type CacheKeyType = 'Image' | 'Registry' | 'Global';

export interface PluginResponse {
  readonly cacheKeyType: CacheKeyType;
  /** Undefined: the provider's default. */
  readonly cacheMs: number | undefined;
  readonly auth: DockerConfig;
}

const keyTypes: readonly string[] = ['Image', 'Registry', 'Global'] satisfies CacheKeyType[];
const responseFields = ['apiVersion', 'kind', 'cacheKeyType', 'cacheDuration', 'auth'];

export function encodePluginRequest(apiVersion: string, request: PluginRequest): string {
  const { image, serviceAccountToken: token, serviceAccountAnnotations: annotations = {} } = request;
  return `${JSON.stringify({
    kind: 'CredentialProviderRequest',
    apiVersion,
    image,
    ...(token === undefined || token.reveal() === '' ? {} : { serviceAccountToken: token.reveal() }),
    ...(Object.keys(annotations).length === 0 ? {} : { serviceAccountAnnotations: annotations }),
  })}\n`;
}

export function decodePluginResponse(apiVersion: string, text: string): PluginResponse {
  const whole = readObject(text);
  const given = whole['apiVersion'];
  if (given !== apiVersion) {
    const shown = typeof given === 'string' && /^[\w./-]{1,80}$/.test(given) ? given : 'none';
    throw invalid(
      `apiVersion from credential plugin response did not match expected apiVersion:${apiVersion}, actual apiVersion:${shown}`,
    );
  }
  if (whole['kind'] !== 'CredentialProviderResponse') throw undecodable('kind');
  const unknown = Object.keys(whole).find((field) => !responseFields.includes(field));
  if (unknown !== undefined) throw undecodable('a field that is not known');
  const type = whole['cacheKeyType'];
  if (typeof type !== 'string' || !keyTypes.includes(type)) {
    throw invalid('credential provider plugin did not return a valid cacheKeyType');
  }
  return {
    cacheKeyType: type as CacheKeyType,
    cacheMs: cacheMsOf(whole['cacheDuration'] ?? undefined),
    auth: authOf(whole['auth'] ?? {}),
  };
}

function readObject(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalid('error reading GVK from response: it is not JSON');
  }
  if (!isObject(value)) throw undecodable('the whole');
  return value;
}

function cacheMsOf(value: unknown): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== 'string') throw undecodable('cacheDuration');
  try {
    return Number(parseDuration(value)) / 1e6;
  } catch {
    throw undecodable('cacheDuration');
  }
}

function authOf(value: unknown): DockerConfig {
  if (!isObject(value)) throw undecodable('auth');
  return new Map(Object.entries(value).map(([address, entry]) => [address, authEntry(entry)]));
}

function authEntry(entry: unknown): DockerCredential {
  if (!isObject(entry) || Object.keys(entry).some((field) => field !== 'username' && field !== 'password')) {
    throw undecodable('auth');
  }
  const { username = '', password = '' } = entry;
  if (typeof username !== 'string' || typeof password !== 'string') throw undecodable('auth');
  return { username, password: new Secret(password), email: '' };
}

function undecodable(what: string): KubeletError {
  return invalid(
    `error decoding credential provider plugin response from stdout: ${what} is not as it should be`,
  );
}

function invalid(message: string): KubeletError {
  return new KubeletError('invalid', 'CredentialProviderFailed', message);
}
