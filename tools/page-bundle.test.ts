// The bundle of the node's page: its size, and the manifest from which the kubelet serves it.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join, resolve } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import type { Metafile } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PageFiles } from '../src/dashboard/serve/page-files.ts';
import { type PageFile, parseManifest } from '../src/dashboard/serve/page-manifest.ts';
import { FakeClock } from '../test/fakes/fake-clock.ts';
import { bundlePage, completePage, compress } from './page-bundle.mjs';

const root = resolve(import.meta.dirname, '..');
const budgetBytes = 150_000;
let directory: string;
let outputs: Metafile['outputs'];
let manifest: ReadonlyMap<string, PageFile>;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'page-'));
  ({
    metafile: { outputs },
  } = await bundlePage(root, directory));
  completePage(root, directory);
  manifest = parseManifest(readFileSync(join(directory, 'manifest.json'), 'utf8'));
});

afterAll(() => rmSync(directory, { recursive: true }));

const outputOf = (name: string): Metafile['outputs'][string] | undefined =>
  Object.entries(outputs).find(([path]) => path.endsWith(`/${name}`))?.[1];

/** What a browser loads to show the page, without what it loads on demand. */
function loadedFirst(name: string, seen: Set<string> = new Set()): ReadonlySet<string> {
  seen.add(name);
  for (const { kind, path } of outputOf(name)?.imports ?? []) {
    const imported = path.slice(path.lastIndexOf('/') + 1);
    if (kind === 'import-statement' && !seen.has(imported)) loadedFirst(imported, seen);
  }
  return seen;
}

test(`the page without the terminal has at most ${budgetBytes} bytes, compressed by gzip`, () => {
  const sizes = ['index.html', 'app.css', ...loadedFirst('app.js')].map((name) => {
    const { gzip } = compress(extname(name), readFileSync(join(directory, name)));
    return [name, gzip?.length ?? 0] as const;
  });
  const sum = sizes.reduce((total, [, bytes]) => total + bytes, 0);
  expect(sum, sizes.map((each) => each.join(' ')).join(', ')).toBeLessThanOrEqual(budgetBytes);
});

test('the terminal is not part of what is loaded first', () => {
  const sources = [...loadedFirst('app.js')].flatMap((name) => Object.keys(outputOf(name)?.inputs ?? {}));
  expect(sources.some((source) => source.includes('node_modules/preact/'))).toBe(true);
  expect(sources.filter((source) => source.includes('node_modules/@xterm/'))).toEqual([]);
});

test('the page names nothing outside of it, and has nothing inline that its policy forbids', () => {
  const html = readFileSync(join(directory, 'index.html'), 'utf8');
  const linked = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, url = '']) => url);
  expect(linked.filter((url) => !manifest.has(url) && url !== 'data:,')).toEqual([]);
  expect(html).not.toMatch(/<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)/i);
});

test('the manifest lists every file, with encodings that have its content', async () => {
  const names = readdirSync(directory).filter((name) => name !== 'manifest.json');
  const listed = [...manifest.values()].flatMap(({ encodings, name }) => [
    name,
    ...encodings.map((each) => `${name}${each === 'br' ? '.br' : '.gz'}`),
  ]);
  expect(new Set(listed)).toEqual(new Set(names));
  for (const { encodings, name } of manifest.values()) {
    const content = readFileSync(join(directory, name));
    for (const each of encodings) {
      const unpack = each === 'br' ? brotliDecompressSync : gunzipSync;
      expect(unpack(readFileSync(join(directory, `${name}.${each === 'br' ? 'br' : 'gz'}`)))).toEqual(
        content,
      );
    }
  }
});

test('the kubelet serves every file of it', async () => {
  const pages = new PageFiles({
    read: async (name) => readFileSync(join(directory, name)),
    clock: new FakeClock(0),
  });
  for (const { name, type } of manifest.values()) {
    const { body, headers, status } = await pages.handle({ headers: {}, params: { file: name } });
    expect([status, headers['content-type']]).toEqual([200, type]);
    expect(body).toEqual(readFileSync(join(directory, name)));
  }
});
