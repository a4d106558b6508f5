// The images that collection never removes, whatever the reason: --image-gc-keep. Pure. Upstream: none.
// Invariant: linear in the length of the names; patterns are exact names and prefixes only.
import { fullImageName, parseImageName } from '../image-name.ts';
import type { ListedImage } from './image-records.ts';
import { allNames } from './images-in-use.ts';

/**
 * A name keeps that image; without tag and digest, every tag and digest of the repository. An ID keeps its image. An entry that
 * ends in `*` keeps every image with a name that begins so.
 */
export function keepList(entries: readonly string[]): (image: ListedImage) => boolean {
  const exact = new Set<string>();
  const prefixes: string[] = [];
  for (const entry of entries) {
    if (entry.endsWith('*')) prefixes.push(...fullPrefixes(entry.slice(0, -1)));
    else exact.add(entry).add(exactName(entry));
  }
  if (exact.size === 0 && prefixes.length === 0) return () => false;
  return (image) =>
    allNames(image).some(
      (name) =>
        exact.has(name) ||
        exact.has(repositoryOf(name)) ||
        prefixes.some((prefix) => name.startsWith(prefix)),
    );
}

/** The full name of the image, or of its repository if the entry has neither tag nor digest. */
function exactName(entry: string): string {
  try {
    const { repository, tag, digest } = parseImageName(entry);
    const hasTag = digest === undefined && tag !== undefined && entry.endsWith(`:${tag}`);
    return digest !== undefined || hasTag ? fullImageName(entry) : repository;
  } catch {
    return entry;
  }
}

function repositoryOf(name: string): string {
  try {
    return parseImageName(name).repository;
  } catch {
    return name;
  }
}

const legacyRegistry = 'index.docker.io/';
const defaultRegistry = 'docker.io/';

/** As written, and with the default registry if the prefix may lack it: `nginx:` is `docker.io/library/nginx:` too. */
function fullPrefixes(prefix: string): readonly string[] {
  if (prefix.startsWith(legacyRegistry)) return [defaultRegistry + prefix.slice(legacyRegistry.length)];
  const slash = prefix.indexOf('/');
  if (prefix === '') return [''];
  if (slash < 0) return [prefix, `${defaultRegistry}library/${prefix}`];
  const first = prefix.slice(0, slash);
  if (first === 'docker.io') {
    const rest = prefix.slice(slash + 1);
    return rest.includes('/') ? [prefix] : [prefix, `${defaultRegistry}library/${rest}`];
  }
  const isHost = first.includes('.') || first.includes(':') || first === 'localhost';
  return isHost ? [prefix] : [prefix, `${defaultRegistry}${prefix}`];
}
