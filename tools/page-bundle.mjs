// The bundle of the node's page: dashboard/ for browsers, each file also compressed, and the manifest of all files, from which the
// kubelet serves them (src/dashboard/serve). The terminal is a chunk of its own, which loads on demand.
import { createHash } from 'node:crypto';
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const types = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};
/** Others are compressed already. */
const compressed = new Set(['.html', '.js', '.css', '.txt', '.svg']);

/** The result of esbuild. */
export async function bundlePage(root, outdir) {
  return await build({
    absWorkingDir: root,
    entryPoints: {
      app: join(root, 'dashboard', 'main.tsx'),
      // The page loads these by their names.
      'search-worker': join(root, 'dashboard', 'logs', 'search-worker.ts'),
      terminal: join(root, 'dashboard', 'terminal', 'terminal.css'),
    },
    outdir,
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'browser',
    target: ['chrome110', 'firefox115', 'safari16'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    minify: true,
    legalComments: 'linked',
    logLevel: 'warning',
    metafile: true,
  });
}

/** Brotli, gzip. HTML has no Brotli: the proxy of the API server rewrites it, and knows only gzip. */
export function compress(extension, content) {
  if (!compressed.has(extension)) return {};
  const quality = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
  return {
    ...(extension === '.html' ? {} : { br: brotliCompressSync(content, { params: quality }) }),
    gzip: gzipSync(content, { level: 9 }),
  };
}

/** Adds index.html, the compressed files and manifest.json to the bundle in this directory. */
export function completePage(root, directory) {
  copyFileSync(join(root, 'dashboard', 'index.html'), join(directory, 'index.html'));
  const files = readdirSync(directory)
    .toSorted()
    .map((name) => {
      const extension = name.slice(name.lastIndexOf('.'));
      const type = types[extension];
      if (type === undefined) throw new Error(`${name} of the page has no content type in page-bundle.mjs`);
      const content = readFileSync(join(directory, name));
      const { br, gzip } = compress(extension, content);
      // A file that compression does not shrink is served as it is.
      const smaller = (packed) => packed !== undefined && packed.length < content.length;
      if (smaller(br)) writeFileSync(join(directory, `${name}.br`), br);
      if (smaller(gzip)) writeFileSync(join(directory, `${name}.gz`), gzip);
      return {
        name,
        type,
        hash: createHash('sha256').update(content).digest('hex').slice(0, 32),
        bytes: content.length,
        immutable: /-[0-9A-Z]{8}\.\w+$/.test(name),
        encodings: [...(smaller(br) ? ['br'] : []), ...(smaller(gzip) ? ['gzip'] : [])],
      };
    });
  writeFileSync(join(directory, 'manifest.json'), `${JSON.stringify({ files }, undefined, 1)}\n`);
}
