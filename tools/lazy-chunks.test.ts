// What the kubelet loads only on demand is not in the chunks that every kubelet loads.
import { join, resolve } from 'node:path';
import { build, type Metafile } from 'esbuild';
import { beforeAll, expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '..');
let outputs: Metafile['outputs'];

beforeAll(async () => {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: { command: join('src', 'entry', 'command.ts') },
    outdir: 'dist',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    external: ['koffi', '@grpc/proto-loader'],
    write: false,
    metafile: true,
    logLevel: 'error',
  });
  outputs = metafile.outputs;
});

/** The sources of a chunk and of the chunks that it imports statically. */
function sourcesOf(chunk: string, seen: Set<string> = new Set()): ReadonlySet<string> {
  const output = outputs[chunk];
  if (output === undefined || seen.has(chunk)) return new Set();
  seen.add(chunk);
  const imported = output.imports.filter(({ kind }) => kind === 'import-statement');
  return new Set([
    ...Object.keys(output.inputs),
    ...imported.flatMap(({ path }) => [...sourcesOf(path, seen)]),
  ]);
}

for (const name of ['@opentelemetry', '@grpc/grpc-js', 'dbus-native'])
  test(`${name} is bundled, but not loaded at the start`, () => {
    const isPart = (source: string): boolean => source.includes(`node_modules/${name}/`);
    expect([...sourcesOf('dist/command.js')].filter(isPart)).toEqual([]);
    expect(Object.values(outputs).some(({ inputs }) => Object.keys(inputs).some(isPart))).toBe(true);
  });
