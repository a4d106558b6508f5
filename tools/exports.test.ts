import { expect, test } from 'vitest';
import { checkExports } from './exports.ts';

function faultsOf(sources: Readonly<Record<string, string>>): readonly string[] {
  return checkExports(Object.entries(sources).map(([path, text]) => ({ path, text })));
}

const unused = (place: string, name: string): string =>
  `${place}: no other file imports ${name}, so it must not be exported`;

test('an export that no file imports is a fault, whatever it declares', () => {
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

test('an import inside the same file does not count', () => {
  expect(faultsOf({ 'src/pods/a.ts': 'export const a = 1; export const b = a;' })).toHaveLength(2);
});

const uses = [
  ['a value', "import { a } from './a.ts';"],
  ['a value under another name', "import { a as b } from './a.ts';"],
  ['a type', "import type { a } from './a.ts';"],
  ['a namespace', "import * as all from './a.ts';"],
  ['a re-export of all', "export * from './a.ts';"],
  ['a lazy import', "const b = () => import('./a.ts');"],
  [
    'names taken from a lazy import',
    "const b = async () => { const { a } = await import('./a.ts'); return a; };",
  ],
  ['a type by path', "type B = import('./a.ts').a;"],
] as const;
for (const [name, text] of uses) {
  test(`counts as a use: ${name}`, () =>
    expect(faultsOf({ 'src/pods/a.ts': 'export const a = 1;', 'src/pods/b.ts': text })).toEqual([]));
}

test('a use from a test counts, since a decider is exported for its table', () => {
  expect(
    faultsOf({ 'src/pods/a.ts': 'export const a = 1;', 'src/pods/a.test.ts': "import { a } from './a.ts';" }),
  ).toEqual([]);
});

test('a file that a tool loads by its path is left alone', () => {
  const files = [{ path: 'integration/rig/sweep.ts', text: 'export function setup(): void {}' }];
  expect(checkExports(files, ['integration/rig/sweep.ts'])).toEqual([]);
});
