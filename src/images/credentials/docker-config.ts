// Parses credentials in Docker's two formats: `.dockercfg` and `config.json`. Pure.
// Upstream: pkg/credentialprovider/config.go. Invariant: error messages contain nothing of the input.
import { KubeletError } from '../../base/errors.ts';
import { isObject } from '../../base/guards.ts';
import { Secret } from '../../base/log/secret.ts';

export interface DockerCredential {
  readonly username: string;
  readonly password: Secret;
  readonly email: string;
}

/** By the registry's address as spelled in the file. */
export type DockerConfig = ReadonlyMap<string, DockerCredential>;

/** `dockercfg`: registries at the top level; `config.json`: below `auths`. */
export type DockerFormat = 'dockercfg' | 'config.json';

export function parseDockerConfig(
  text: string,
  format: DockerFormat,
  maxRegistries = Number.POSITIVE_INFINITY,
): DockerConfig {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's message quotes the text.
    throw invalid('error occurred while trying to unmarshal json');
  }
  if (value === null) return new Map();
  const whole = record(value, 'the configuration');
  const entries = format === 'dockercfg' ? whole : (whole['auths'] ?? {});
  const registries = Object.entries(record(entries, 'auths'));
  if (registries.length > maxRegistries) throw invalid(`it has more than ${maxRegistries} registries`);
  return new Map(registries.map(([registry, entry]) => [registry, credential(entry)]));
}

function credential(entry: unknown): DockerCredential {
  const fields = record(entry ?? {}, 'an entry');
  const auth = textField(fields, 'auth');
  const email = textField(fields, 'email');
  if (auth === '') {
    return {
      username: textField(fields, 'username'),
      password: new Secret(textField(fields, 'password')),
      email,
    };
  }
  const decoded = decodeBase64(auth);
  const colon = decoded?.indexOf(':') ?? -1;
  if (decoded === undefined || colon < 0) {
    throw invalid('unable to parse auth field, must be formatted as base64(username:password)');
  }
  return { username: decoded.slice(0, colon), password: new Secret(decoded.slice(colon + 1)), email };
}

/** With or without padding; undefined if invalid. As Go, ignores line breaks. */
function decodeBase64(text: string): string | undefined {
  const compact = text.replace(/[\r\n]/g, '');
  const padded = /^[A-Za-z0-9+/]*={0,2}$/.test(compact) && compact.length % 4 === 0;
  const unpadded = /^[A-Za-z0-9+/]*$/.test(compact) && compact.length % 4 !== 1;
  return padded || unpadded ? Buffer.from(compact, 'base64').toString('utf8') : undefined;
}

function record(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (!isObject(value)) throw invalid(`${what} is not an object`);
  return value;
}

function textField(fields: Readonly<Record<string, unknown>>, name: string): string {
  const value = fields[name] ?? '';
  if (typeof value !== 'string') throw invalid(`${name} is not a string`);
  return value;
}

function invalid(why: string): KubeletError {
  return new KubeletError('invalid', 'InvalidDockerConfig', why);
}
