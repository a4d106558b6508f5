// Image references, normalised as the runtime does: busybox is docker.io/library/busybox:latest.
import { unknownError } from './rpc-error.ts';

export interface FakeReference {
  /** With registry, and with tag or digest. */
  readonly canonical: string;
  /** Without tag and digest. */
  readonly name: string;
}

const component = '[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*';
const reference = new RegExp(
  `^(?:((?:[a-zA-Z0-9-]+\\.)*[a-zA-Z0-9-]+(?::\\d+)?)/)?(${component}(?:/${component})*)(?::([\\w][\\w.-]{0,127}))?(?:@(sha256:[0-9a-f]{64}))?$`,
);

export function parseReference(text: string): FakeReference {
  const match = reference.exec(text);
  if (match === null) {
    const why = /[A-Z]/.test(text.replace(/[:@].*$/, '')) ? ': repository name must be lowercase' : '';
    throw unknownError(`failed to parse image reference "${text}": invalid reference format${why}`);
  }
  const [, first, path = '', tag, digest] = match;
  const isRegistry = first !== undefined && (/[.:]/.test(first) || first === 'localhost');
  const registry = isRegistry ? first : 'docker.io';
  const rest = isRegistry || first === undefined ? path : `${first}/${path}`;
  const name = `${registry}/${registry === 'docker.io' && !rest.includes('/') ? `library/${rest}` : rest}`;
  return { name, canonical: digest === undefined ? `${name}:${tag ?? 'latest'}` : `${name}@${digest}` };
}
