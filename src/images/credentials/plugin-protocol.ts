// Requests to and responses of credential provider plugins. Pure.
// Upstream: staging/src/k8s.io/kubelet/pkg/apis/credentialprovider and the decoding in pkg/credentialprovider/plugin.
// Invariants: unknown fields are rejected; no error quotes the response, which may contain credentials.
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
  /** Undefined: use the provider's default. */
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
  if (whole['kind'] !== 'CredentialProviderResponse') throw undecodable('invalid kind');
  const unknown = Object.keys(whole).find((field) => !responseFields.includes(field));
  if (unknown !== undefined) throw undecodable('unknown field');
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
  if (!isObject(value)) throw undecodable('not an object');
  return value;
}

function cacheMsOf(value: unknown): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== 'string') throw undecodable('invalid cacheDuration');
  try {
    return Number(parseDuration(value)) / 1e6;
  } catch {
    throw undecodable('invalid cacheDuration');
  }
}

function authOf(value: unknown): DockerConfig {
  if (!isObject(value)) throw undecodable('invalid auth');
  return new Map(Object.entries(value).map(([address, entry]) => [address, authEntry(entry)]));
}

function authEntry(entry: unknown): DockerCredential {
  if (!isObject(entry) || Object.keys(entry).some((field) => field !== 'username' && field !== 'password')) {
    throw undecodable('invalid auth');
  }
  const { username = '', password = '' } = entry;
  if (typeof username !== 'string' || typeof password !== 'string') throw undecodable('invalid auth');
  return { username, password: new Secret(password), email: '' };
}

function undecodable(why: string): KubeletError {
  return invalid(`error decoding credential provider plugin response from stdout: ${why}`);
}

function invalid(message: string): KubeletError {
  return new KubeletError('invalid', 'CredentialProviderFailed', message);
}
