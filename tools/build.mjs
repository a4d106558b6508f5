// Builds the kubelet command: src/entry/main.ts and all it needs → dist/kubelet/main.mjs, what is imported lazily in
// chunks of its own, and beside it decode-worker.mjs and usage-thread.mjs, which run in threads. bin/kubelet runs the result.
// Names are kept and so are line breaks' meaning: a stack trace from a node in the field must be readable without
// a source map, since parsing maps at start costs memory. Only white space and syntax are shortened.
import { existsSync, rmSync } from 'node:fs';
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
  // Resolved at run time: koffi finds its native binary beside its own package; the proto loader is only for a
  // diagnostic service of gRPC that nothing here serves.
  external: ['koffi', '@grpc/proto-loader'],
  // CommonJS packages inside the bundle ask for node's own modules by require().
  banner: {
    js: "import { createRequire as bundleRequire } from 'node:module';const require = bundleRequire(import.meta.url);",
  },
  logLevel: 'warning',
  metafile: true,
};
let result;
try {
  result = await build(options);
} catch {
  // esbuild has said what is wrong.
  process.exit(1);
}
for (const [file, output] of Object.entries(result.metafile.outputs)) {
  if (file.endsWith('.mjs')) console.log(`${file}  ${(output.bytes / 1024).toFixed(0)} KiB`);
}
