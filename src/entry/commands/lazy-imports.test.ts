// A start of the kubelet loads no command, and a command loads no other one: both follow from the static imports.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const root = new URL('../../', import.meta.url);

/** Every module below src that the file loads with it, as paths from src. Imports of types only are erased. */
function loadedWith(entry: string): ReadonlySet<string> {
  const loaded = new Set([entry]);
  for (const path of loaded) {
    const url = new URL(path, root);
    const text = readFileSync(url, 'utf8');
    const imports = text.matchAll(/^(?:import|export) (?!type )[^;]*?from '(\.[^']+\.ts)';$/gm);
    for (const [, target = ''] of imports) loaded.add(new URL(target, url).href.slice(root.href.length));
  }
  return loaded;
}

const isCommand = (path: string): boolean =>
  /^(doctor|terminal|edge\/doctor|edge\/node-api|config\/man|config\/completion)\//.test(path);

test('the kubelet', () => {
  const loaded = loadedWith('entry/command.ts');
  expect(loaded.has('assemble/kubelet.ts')).toBe(true);
  expect([...loaded].filter((path) => isCommand(path) || path.startsWith('entry/commands/'))).toEqual([]);
});

test('the commands that print a text', () => {
  const loaded = [...loadedWith('entry/commands/print-text.ts')];
  expect(loaded.filter((path) => /^(edge|assemble|doctor)\//.test(path))).toEqual([]);
});

test('the entry files in front of both', () => {
  expect([...loadedWith('entry/main.ts')]).toEqual(['entry/main.ts', 'base/errors.ts']);
  const loaded = [...loadedWith('entry/commands/run-subcommand.ts')];
  expect(loaded.filter((path) => isCommand(path) || path.startsWith('edge/'))).toEqual([]);
});
