// Reads an image name as registries do. Pure. Upstream: pkg/util/parsers over distribution/reference and go-digest.
// Invariant: what is refused here no registry could serve, and the reason is in the words people search for.
import { KubeletError } from '../base/errors.ts';

const domainPart = '(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])';
const domain = `(?:${domainPart}(?:\\.${domainPart})*|\\[(?:[a-fA-F0-9:]+)\\])(?::[0-9]+)?`;
const pathPart = '[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*';
const path = `${pathPart}(?:/${pathPart})*`;
const tag = '[\\w][\\w.-]{0,127}';
const digest = '[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}';
const reference = new RegExp(`^${domain}/(?<path>${path})(?::(?<tag>${tag}))?(?:@(?<digest>${digest}))?$`);
const maxPathLength = 255;
const bareId = /^[a-f0-9]{64}$/;
const digestLengths: Readonly<Record<string, number>> = { sha256: 64, sha384: 96, sha512: 128 };

/** Adds `:latest` where neither tag nor digest is given; refuses what no registry could serve. */
export function normalizeImageName(image: string): string {
  const wrong = (why: string): KubeletError =>
    new KubeletError(
      'invalid',
      'InvalidImageName',
      `Failed to apply default image tag "${image}": couldn't parse image name "${image}": ${why}`,
    );
  if (bareId.test(image)) {
    throw wrong(`invalid repository name (${image}), cannot specify 64-byte hexadecimal strings`);
  }
  const whole = withRegistry(image);
  const remote = whole.rest.split(':', 1)[0] ?? '';
  if (remote !== remote.toLowerCase()) {
    throw wrong(`invalid reference format: repository name (${remote}) must be lowercase`);
  }
  const parts = reference.exec(`${whole.registry}/${whole.rest}`)?.groups;
  if (parts === undefined) throw wrong('invalid reference format');
  if ((parts['path']?.length ?? 0) > maxPathLength) {
    throw wrong(`repository name must not be more than ${maxPathLength} characters`);
  }
  if (parts['digest'] === undefined) return parts['tag'] === undefined ? `${image}:latest` : image;
  const fault = digestFault(parts['digest']);
  if (fault !== undefined) throw wrong(fault);
  return image;
}

/** A first part counts as a registry when it looks like a host; everything else is on the one that Docker made the default. */
function withRegistry(image: string): { registry: string; rest: string } {
  const slash = image.indexOf('/');
  const first = image.slice(0, Math.max(0, slash));
  const isHost = /[.:]/.test(first) || first === 'localhost' || first !== first.toLowerCase();
  if (slash >= 0 && isHost) return { registry: first, rest: image.slice(slash + 1) };
  return { registry: 'docker.io', rest: slash >= 0 ? image : `library/${image}` };
}

function digestFault(text: string): string | undefined {
  const [algorithm = '', encoded = ''] = text.split(':');
  const length = digestLengths[algorithm];
  if (length === undefined) return 'unsupported digest algorithm';
  if (encoded.length !== length) return 'invalid checksum digest length';
  return /^[a-f0-9]+$/.test(encoded) ? undefined : 'invalid checksum digest format';
}
