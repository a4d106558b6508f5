// The list of the page's files, which tools/build.mjs writes beside them. Pure.

export interface PageFile {
  /** As in the URL, below /ui/. */
  readonly name: string;
  /** The content type. */
  readonly type: string;
  /** Of its content, in hex. */
  readonly hash: string;
  readonly bytes: number;
  /** Its name has a hash of its content, so that it never changes. */
  readonly immutable: boolean;
  /** Those of which a file NAME.br or NAME.gz exists. */
  readonly encodings: readonly ('br' | 'gzip')[];
}

export const manifestName = 'manifest.json';

export function parseManifest(text: string): ReadonlyMap<string, PageFile> {
  const { files } = JSON.parse(text) as { readonly files: readonly PageFile[] };
  return new Map(files.map((file) => [file.name, file]));
}
