// Parses image names as registries do. Pure. Upstream: pkg/util/parsers over distribution/reference and go-digest.
// Invariant: only names that no registry could serve are rejected, with upstream's messages.
import { describeError, KubeletError } from '../base/errors.ts';

/** differs from upstream: a longer name is rejected before it is parsed; host, path, tag and digest are far shorter. */
const maxLength = 4_096;
/** In distribution's order: host and port, path, tag, digest. */
const reference =
  /^(?:(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])(?:\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))*|\[(?:[a-fA-F0-9:]+)\])(?::[0-9]+)?\/(?<path>[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*)(?::(?<tag>[\w][\w.-]{0,127}))?(?:@(?<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?$/;
const defaultRegistry = 'docker.io';
const legacyRegistry = 'index.docker.io';
const maxPathLength = 255;
const bareId = /^[a-f0-9]{64}$/;
const digestLengths: Readonly<Record<string, number>> = { sha256: 64, sha384: 96, sha512: 128 };

interface ImageName {
  /** With registry, without tag and digest: `docker.io/library/busybox`. The key for credentials. */
  readonly repository: string;
  /** `latest` if neither tag nor digest is given. */
  readonly tag: string | undefined;
  readonly digest: string | undefined;
}

/** Throws InvalidImageName for a name that no registry could serve. */
export function parseImageName(image: string): ImageName {
  const wrong = (why: string): KubeletError =>
    new KubeletError('invalid', 'InvalidImageName', `couldn't parse image name "${shown(image)}": ${why}`);
  if (image.length > maxLength) throw wrong('invalid reference format');
  if (bareId.test(image)) {
    throw wrong(`invalid repository name (${image}), cannot specify 64-byte hexadecimal strings`);
  }
  const { registry, rest } = withRegistry(image);
  const remote = rest.split(':', 1)[0] ?? '';
  if (remote !== remote.toLowerCase()) {
    throw wrong(`invalid reference format: repository name (${remote}) must be lowercase`);
  }
  const parts = reference.exec(`${registry}/${rest}`)?.groups;
  if (parts === undefined) throw wrong('invalid reference format');
  const path = parts['path'] ?? '';
  if (path.length > maxPathLength) {
    throw wrong(`repository name must not be more than ${maxPathLength} characters`);
  }
  const given = parts['digest'];
  const fault = given === undefined ? undefined : digestFault(given);
  if (fault !== undefined) throw wrong(fault);
  const tag = parts['tag'] ?? (given === undefined ? 'latest' : undefined);
  return { repository: `${registry}/${path}`, tag, digest: given };
}

/** The name as the pod spells it, without tag and digest: upstream's key in pull records. */
export function untaggedName(image: string): string {
  const { digest } = parseImageName(image);
  const named = digest === undefined ? image : image.slice(0, -digest.length - 1);
  const colon = named.lastIndexOf(':');
  // A colon before the last slash separates the registry's port.
  return colon > named.lastIndexOf('/') ? named.slice(0, colon) : named;
}

/** Adds `:latest` if neither tag nor digest is given. Throws InvalidImageName for a name that no registry could serve. */
export function normalizeImageName(image: string): string {
  try {
    const { tag, digest } = parseImageName(image);
    return digest === undefined && tag !== undefined && !image.endsWith(`:${tag}`)
      ? `${image}:${tag}`
      : image;
  } catch (err) {
    const message = `Failed to apply default image tag "${shown(image)}": ${describeError(err)}`;
    throw new KubeletError('invalid', 'InvalidImageName', message);
  }
}

/** The full name, as runtimes list it: `docker.io/library/busybox:latest`, or with the digest alone. */
export function fullImageName(image: string): string {
  const { repository, tag, digest } = parseImageName(image);
  return digest === undefined ? `${repository}:${tag}` : `${repository}@${digest}`;
}

function shown(image: string): string {
  return image.length <= maxLength ? image : `${image.slice(0, maxPathLength)}…`;
}

/** The first part is the registry if it looks like a host; other names are in Docker's default registry. */
function withRegistry(image: string): { registry: string; rest: string } {
  const slash = image.indexOf('/');
  const first = image.slice(0, Math.max(0, slash));
  const isHost = /[.:]/.test(first) || first === 'localhost' || first !== first.toLowerCase();
  const given = slash >= 0 && isHost ? first : defaultRegistry;
  const rest = slash >= 0 && isHost ? image.slice(slash + 1) : image;
  const registry = given === legacyRegistry ? defaultRegistry : given;
  return { registry, rest: registry === defaultRegistry && !rest.includes('/') ? `library/${rest}` : rest };
}

function digestFault(text: string): string | undefined {
  const [algorithm = '', encoded = ''] = text.split(':');
  const length = digestLengths[algorithm];
  if (length === undefined) return 'unsupported digest algorithm';
  if (encoded.length !== length) return 'invalid checksum digest length';
  return /^[a-f0-9]+$/.test(encoded) ? undefined : 'invalid checksum digest format';
}
