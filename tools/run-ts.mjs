// Runs one TypeScript file of this repository: bundles it without its npm packages and imports the result.
// Usage: node tools/run-ts.mjs FILE [args…]
import { mkdirSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const file = process.argv[2];
if (file === undefined) {
  console.error('usage: node tools/run-ts.mjs FILE [args…]');
  process.exit(2);
}
const root = resolve(fileURLToPath(import.meta.url), '../..');
const outdir = join(root, 'dist', 'scripts');
mkdirSync(outdir, { recursive: true });
const outfile = join(outdir, `${basename(file, '.ts')}.mjs`);
await build({
  entryPoints: [resolve(file)],
  outfile,
  bundle: true,
  packages: 'external',
  platform: 'node',
  target: 'node20',
  format: 'esm',
  sourcemap: 'inline',
  logLevel: 'warning',
});
process.argv.splice(1, 2, outfile);
await import(pathToFileURL(outfile).href);
