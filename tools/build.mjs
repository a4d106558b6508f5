// Builds the kubelet command: bundles src/entry/main.ts into dist/kubelet/main.mjs, with lazy imports as separate chunks, and
// the worker threads' entries decode-worker.mjs and usage-thread.mjs beside it, and the node's page into ui/ (page-bundle.mjs). bin/kubelet runs the result.
// Identifiers are kept, so that a stack trace from a node is readable without a source map: parsing source maps at start
// costs memory. Only white space and syntax are minified.
import { existsSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { bundlePage, completePage } from './page-bundle.mjs';

const root = resolve(fileURLToPath(import.meta.url), '../..');
const entries = {
  main: 'entry/main',
  'decode-worker': 'entry/decode-worker',
  'usage-thread': 'entry/usage-thread',
};
const outdir = join(root, 'dist', 'kubelet');

const entryPoints = Object.fromEntries(
  Object.entries(entries).map(([name, source]) => [name, join(root, 'src', `${source}.ts`)]),
);
for (const entry of Object.values(entryPoints)) {
  if (existsSync(entry)) continue;
  console.error(`build: ${entry} does not exist`);
  process.exit(1);
}
rmSync(outdir, { recursive: true, force: true });
const options = {
  entryPoints,
  outdir,
  outExtension: { '.js': '.mjs' },
  chunkNames: 'chunks/[name]-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'linked',
  sourcemap: true,
  sourcesContent: false,
  // Resolved at run time: koffi loads its native binary from its own package. The proto loader belongs to a diagnostic
  // service of gRPC that the kubelet does not serve.
  external: ['koffi', '@grpc/proto-loader'],
  // CommonJS packages inside the bundle load Node's modules by require().
  banner: {
    js: "import { createRequire as bundleRequire } from 'node:module';const require = bundleRequire(import.meta.url);",
  },
  logLevel: 'warning',
  metafile: true,
};
let result;
let page;
try {
  result = await build(options);
  page = await bundlePage(root, join(outdir, 'ui'));
  completePage(root, join(outdir, 'ui'));
} catch (err) {
  // esbuild has printed its own errors.
  if (!(err instanceof Error && 'errors' in err)) console.error(err);
  process.exit(1);
}
for (const [file, output] of Object.entries({ ...result.metafile.outputs, ...page.metafile.outputs })) {
  if (/\.(mjs|js|css)$/.test(file)) console.log(`${file}  ${(output.bytes / 1024).toFixed(0)} KiB`);
}
