import { expect, test } from 'vitest';
import { checkExports } from './exports.ts';

function faultsOf(sources: Readonly<Record<string, string>>): readonly string[] {
  return checkExports(Object.entries(sources).map(([path, text]) => ({ path, text })));
}

const unused = (place: string, name: string): string =>
  `${place}: no other file imports ${name}, so it must not be exported`;

test('reports an export that no file imports, for every kind of declaration', () => {
  const text = [
    'export const a = 1;',
    'export function b(): void {}',
    'export class C {}',
    'export interface D { readonly e: string }',
    'export type F = string;',
    'export { a as g };',
  ].join('\n');
  expect(faultsOf({ 'src/pods/a.ts': text })).toEqual(
    ['a', 'b', 'C', 'D', 'F', 'g'].map((name, index) => unused(`src/pods/a.ts:${index + 1}`, name)),
  );
});

test('does not count a use inside the same file', () => {
  expect(faultsOf({ 'src/pods/a.ts': 'export const a = 1; export const b = a;' })).toHaveLength(2);
});

const uses = [
  ['a value', "import { a } from './a.ts';"],
  ['a value under another name', "import { a as b } from './a.ts';"],
  ['a type', "import type { a } from './a.ts';"],
  ['a namespace', "import * as all from './a.ts';"],
  ['a re-export of everything', "export * from './a.ts';"],
  ['a lazy import', "const b = () => import('./a.ts');"],
  [
    'names destructured from a lazy import',
    "const b = async () => { const { a } = await import('./a.ts'); return a; };",
  ],
  ['a type by path', "type B = import('./a.ts').a;"],
] as const;
for (const [name, text] of uses) {
  test(`counts as a use: ${name}`, () =>
    expect(faultsOf({ 'src/pods/a.ts': 'export const a = 1;', 'src/pods/b.ts': text })).toEqual([]));
}

test('counts a use from a test, since deciders are exported for their tables', () => {
  expect(
    faultsOf({ 'src/pods/a.ts': 'export const a = 1;', 'src/pods/a.test.ts': "import { a } from './a.ts';" }),
  ).toEqual([]);
});

test('skips a file that a tool loads by path', () => {
  const files = [{ path: 'integration/rig/clear-dead-rigs.ts', text: 'export function setup(): void {}' }];
  expect(checkExports(files, ['integration/rig/clear-dead-rigs.ts'])).toEqual([]);
});
