// Credentials by registry, and the lookup of those for an image, most specific first. Pure.
// Upstream: BasicDockerKeyring in pkg/credentialprovider/keyring.go.
import { createHash } from 'node:crypto';
import { goJsonString } from '../../api/k8s/go-json.ts';
import type { Secret } from '../../base/log/secret.ts';
import type { DockerConfig, DockerCredential } from './docker-config.ts';
import { parseAddress, registryMatches } from './url-match.ts';

export interface Coordinates {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** The origin of credentials that not every pod of the node may use. */
export type CredentialSource =
  | { readonly from: 'secret'; readonly at: Coordinates }
  | { readonly from: 'service-account'; readonly at: Coordinates };

export interface PullCredential {
  readonly username: string;
  readonly password: Secret;
  /** sha256 over the credentials in upstream's form, to compare them without storing them. */
  readonly hash: string;
  /** Undefined for the node's own credentials. */
  readonly source: CredentialSource | undefined;
}

/** The default registry, as Docker's configuration files name it. */
const defaultRegistry = 'index.docker.io';

export class Keyring {
  readonly #credentials = new Map<string, PullCredential[]>();

  add(source: CredentialSource | undefined, config: DockerConfig): void {
    for (const [address, entry] of config) {
      const key = registryKey(address);
      if (key === undefined) continue;
      const known = this.#credentials.get(key) ?? [];
      known.push({ username: entry.username, password: entry.password, hash: hashOf(entry), source });
      this.#credentials.set(key, known);
    }
  }

  /** The matching credentials in the order to try them. `image` is a repository with its registry, without tag. */
  lookup(image: string): readonly PullCredential[] {
    const keys = [...this.#credentials.keys()].filter((key) => registryMatches(key, image));
    // In descending order, so that `example.com/team` is tried before `example.com`.
    const found = keys.toSorted(descending).flatMap((key) => this.#credentials.get(key) ?? []);
    if (found.length > 0) return found;
    return isOnDefaultRegistry(image) ? (this.#credentials.get(defaultRegistry) ?? []) : [];
  }
}

function descending(a: string, b: string): number {
  return Buffer.compare(Buffer.from(b), Buffer.from(a));
}

/** `https://example.com/v1/` and `example.com` are the same registry. Undefined if the address is invalid. */
function registryKey(address: string): string | undefined {
  const text = address.replace(/^https?:\/\//, '');
  if (parseAddress(text) === undefined) return undefined;
  const [, host = '', path = ''] = /^(?:[^/?#@]*@)?([^/?#]*)([^?#]*)/.exec(text) ?? [];
  const effective = path.replace(/^\/v[12](?=\/)/, '');
  return effective === '' || effective === '/' ? host : `${host}${effective}`;
}

function isOnDefaultRegistry(image: string): boolean {
  const [first = '', ...rest] = image.split('/');
  if (first === '') return false;
  return rest.length === 0 || ['docker.io', 'index.docker.io'].includes(first) || !/[.:]/.test(first);
}

/** Over the JSON that Go would write, since the records may be read by upstream's kubelet. */
function hashOf({ username, password, email }: DockerCredential): string {
  const fields = [
    ['username', username],
    ['password', password.reveal()],
    ['email', email],
  ] as const;
  const body = fields
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `"${name}":${goJsonString(value)}`);
  return createHash('sha256')
    .update(`{${body.join(',')}}`)
    .digest('hex');
}
