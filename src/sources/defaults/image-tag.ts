// Parses an image reference as far as its default pull policy depends on it.
// Upstream: pkg/util/parsers on github.com/distribution/reference.

/** Host and port, path, tag, digest. */
const reference =
  /^(?:(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])(?:\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?\/([a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*)(?::(\w[\w.-]{0,127}))?(?:@([A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?$/;

const longestRepository = 255;
/** Hex digits by digest algorithm; any other algorithm makes a reference invalid. */
const digestDigits: Readonly<Record<string, number>> = { sha256: 64, sha384: 96, sha512: 128 };

/** Whether the tag is `latest`, explicitly or by default (neither tag nor digest). False for an invalid reference. */
export function hasLatestTag(image: string): boolean {
  // A plain image ID, which would parse as a name.
  if (/^[a-f0-9]{64}$/.test(image)) return false;
  const [, repository, tag, imageDigest] = reference.exec(withDomain(image)) ?? [];
  if (repository === undefined || repository.length > longestRepository) return false;
  if (imageDigest !== undefined && !isKnownDigest(imageDigest)) return false;
  return tag === undefined ? imageDigest === undefined : tag === 'latest';
}

/** Expands `busybox` to `docker.io/library/busybox`, unless the first part looks like a host. */
function withDomain(image: string): string {
  const slash = image.indexOf('/');
  const first = image.slice(0, Math.max(0, slash));
  const isHost = /[.:]/.test(first) || first === 'localhost' || first !== first.toLowerCase();
  if (slash > 0 && isHost) return image;
  return slash < 0 ? `docker.io/library/${image}` : `docker.io/${image}`;
}

function isKnownDigest(text: string): boolean {
  const [algorithm = '', digits = ''] = text.split(':');
  return digits.length === digestDigits[algorithm] && digits === digits.toLowerCase();
}
