// Builds the kubelet command: bundles src/entry/main.ts into dist/kubelet/main.mjs, with lazy imports as separate chunks, and
// the worker threads' entries decode-worker.mjs and usage-thread.mjs beside it. bin/kubelet runs the result.
// Identifiers are kept, so that a stack trace from a node is readable without a source map: parsing source maps at start
// costs memory. Only white space and syntax are minified.
import { copyFileSync, existsSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

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
// The page of the node, for browsers. The terminal is a chunk of its own, which loads on demand.
const pageOptions = {
  entryPoints: {
    app: join(root, 'dashboard', 'main.tsx'),
    // By these names the page loads them.
    'search-worker': join(root, 'dashboard', 'logs', 'search-worker.ts'),
    terminal: join(root, 'dashboard', 'terminal', 'terminal.css'),
  },
  outdir: join(outdir, 'ui'),
  chunkNames: '[name]-[hash]',
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
};
let result;
let page;
try {
  result = await build(options);
  page = await build(pageOptions);
  copyFileSync(join(root, 'dashboard', 'index.html'), join(outdir, 'ui', 'index.html'));
} catch {
  // esbuild has printed the error.
  process.exit(1);
}
for (const [file, output] of Object.entries({ ...result.metafile.outputs, ...page.metafile.outputs })) {
  if (/\.(mjs|js|css)$/.test(file)) console.log(`${file}  ${(output.bytes / 1024).toFixed(0)} KiB`);
}
