import type { BuildResult } from 'esbuild';

export function bundlePage(root: string, outdir: string): Promise<BuildResult<{ metafile: true }>>;
export function compress(
  extension: string,
  content: Uint8Array,
): { readonly br?: Uint8Array; readonly gzip?: Uint8Array };
export function completePage(root: string, directory: string): void;
