// Every text that the page shows may come from a pod's author. It is rendered as text; nothing may turn text into markup,
// into a script or into an address of another scheme.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('.', import.meta.url));
const own = 'no-markup.test.ts';
const sources = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((path) => /\.(ts|tsx|html)$/.test(path) && path !== own)
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));

const banned = [
  ['innerHTML', /innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|setHTML/],
  ['document.write', /document\s*\.\s*write/],
  ['evaluated text', /\beval\s*\(|new Function\b|createContextualFragment|DOMParser|srcdoc/],
  ['an address of another host', /(?:src|href)=["']\s*(?:https?:)?\/\//],
  ['an import from another host', /(?:import|from)\s*\(?\s*["']https?:/],
] as const;

describe('the page', () => {
  test.each(banned)('has no %s', (_, pattern) => {
    expect(sources.filter(({ text }) => pattern.test(text)).map(({ path }) => path)).toEqual([]);
  });

  test('builds every address of a link by the functions of data/route.ts', () => {
    const hrefs = sources.flatMap(({ path, text }) =>
      Array.from(text.matchAll(/href=\{([^}(]*)/g), ([, made = '']) => `${path}: ${made}`),
    );
    expect(hrefs.length).toBeGreaterThan(5);
    expect(hrefs.filter((each) => !/: (podHref|viewHref|routeHref)$/.test(each))).toEqual([]);
  });
});
