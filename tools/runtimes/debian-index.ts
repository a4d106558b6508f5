// Reads the indices of a Debian archive. Pure.
// Reference: https://wiki.debian.org/DebianRepository/Format

export interface IndexedFile {
  /** Below the archive for a package, below the suite for an index. */
  readonly path: string;
  readonly sizeBytes: number;
  readonly sha256: string;
}

export interface DebianPackage extends IndexedFile {
  readonly name: string;
  readonly version: string;
}

/** The entry of `path` in the SHA256 list of a Release file. */
export function fileOfRelease(release: string, path: string): IndexedFile | undefined {
  const lines = release.split('\n');
  const start = lines.indexOf('SHA256:');
  if (start < 0) return undefined;
  for (const line of lines.slice(start + 1)) {
    if (!line.startsWith(' ')) return undefined;
    const [sha256 = '', size = '', name] = line.trim().split(/ +/);
    if (name === path) return { path, sizeBytes: Number(size), sha256 };
  }
  return undefined;
}

/** The packages of these names in a Packages file. An index has each name once per version; the last one counts. */
export function packagesOf(index: string, names: readonly string[]): ReadonlyMap<string, DebianPackage> {
  const found = new Map<string, DebianPackage>();
  for (const name of names) {
    const starts = `Package: ${name}\n`;
    for (let at = index.indexOf(starts); at >= 0; at = index.indexOf(starts, at + 1)) {
      if (at > 0 && index[at - 1] !== '\n') continue;
      const end = index.indexOf('\n\n', at);
      const fields = fieldsOf(index.slice(at, end < 0 ? undefined : end));
      const [version, path, sha256] = ['Version', 'Filename', 'SHA256'].map((key) => fields.get(key) ?? '');
      if (!version || !path || !sha256) continue;
      found.set(name, { name, version, path, sha256, sizeBytes: Number(fields.get('Size')) });
    }
  }
  return found;
}

function fieldsOf(paragraph: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (const line of paragraph.split('\n')) {
    const colon = line.indexOf(':');
    if (colon > 0 && !line.startsWith(' ')) fields.set(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  return fields;
}
