// Finds exports that no other file imports. An unused export makes a reader search the whole tree to learn that nothing
// depends on it. Entry points and configuration files have no named exports.
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, relative } from 'node:path';
import type { SourceFile } from './layers/layers.ts';
import { type AstNode, isNode, type Module, parseModule, walk } from './layers/parse.ts';

/** The folders whose files may import each other. */
const tops = ['src', 'test', 'integration', 'bench', 'tools', 'examples', 'dashboard'];

interface Exported {
  readonly name: string;
  readonly line: number;
}

/**
 * One line per unused export, in the order of the files. `configured` are files that a tool loads by path: their exports are
 * the tool's convention.
 */
export function checkExports(
  files: readonly SourceFile[],
  configured: readonly string[] = [],
): readonly string[] {
  const modules = files.map(({ path, text }) => ({ path, module: parseModule(path, text) }));
  const used = new Map<string, Set<string>>();
  for (const { path, module } of modules) {
    for (const { from, name } of importedNames(module)) {
      if (!from.startsWith('.')) continue;
      const target = posix.normalize(posix.join(posix.dirname(path), from));
      const names = used.get(target) ?? new Set<string>();
      names.add(name);
      used.set(target, names);
    }
  }
  return modules
    .filter(({ path }) => !/\/generated\//.test(path) && !configured.includes(path))
    .flatMap(({ path, module }) => {
      const names = used.get(path);
      if (names?.has('*') === true) return [];
      return exportedNames(module)
        .filter(({ name }) => names?.has(name) !== true)
        .map(
          ({ name, line }) => `${path}:${line}: no other file imports ${name}, so it must not be exported`,
        );
    });
}

/** The names a module imports or re-exports; `*` stands for all of them. */
function importedNames(module: Module): readonly { readonly from: string; readonly name: string }[] {
  const found: { from: string; name: string }[] = [];
  walk(module.ast, (node, parents) => {
    const from = sourceOf(node);
    if (from === undefined) return;
    const specifiers = nodes(node['specifiers']);
    const isWhole =
      node.type === 'ExportAllDeclaration' ||
      specifiers.some(({ type }) => type === 'ImportNamespaceSpecifier') ||
      node.type === 'ImportExpression';
    if (node.type === 'TSImportType') {
      const { qualifier } = node;
      found.push({ from, name: isNode(qualifier) ? nameOf(qualifier) : '*' });
      return;
    }
    if (isWhole) {
      for (const name of destructured(parents) ?? ['*']) found.push({ from, name });
      return;
    }
    for (const one of specifiers) found.push({ from, name: nameOf(one['imported'] ?? one['local']) });
  });
  return found;
}

/** The names in `const { a, b } = await import(…)`. */
function destructured(parents: readonly AstNode[]): readonly string[] | undefined {
  const declarator = parents.findLast(({ type }) => type === 'VariableDeclarator');
  const id = declarator?.['id'];
  if (!isNode(id) || id.type !== 'ObjectPattern') return undefined;
  return nodes(id['properties']).map((property) => nameOf(property['key']));
}

function sourceOf(node: AstNode): string | undefined {
  const isImport =
    /^(ImportDeclaration|ExportAllDeclaration|ImportExpression|TSImportType)$/.test(node.type) ||
    node.type === 'ExportNamedDeclaration';
  if (!isImport) return undefined;
  const source = node['source'] ?? node['argument'];
  return isNode(source) && typeof source['value'] === 'string' ? source['value'] : undefined;
}

function exportedNames(module: Module): readonly Exported[] {
  return nodes(module.ast['body']).flatMap((node) => {
    if (node.type !== 'ExportNamedDeclaration') return [];
    const line = module.lineAt(node.start);
    const { declaration } = node;
    if (!isNode(declaration))
      return nodes(node['specifiers']).map((one) => ({ name: nameOf(one['exported']), line }));
    if (declaration.type === 'VariableDeclaration')
      return nodes(declaration['declarations']).map((one) => ({ name: nameOf(one['id']), line }));
    return [{ name: nameOf(declaration['id']), line }];
  });
}

function nameOf(node: unknown): string {
  if (!isNode(node)) return '';
  const name = node['name'] ?? node['value'];
  return typeof name === 'string' ? name : '';
}

function nodes(value: unknown): readonly AstNode[] {
  return Array.isArray(value) ? value.filter(isNode) : [];
}

/** The files that vitest loads by path, as its configurations name them. */
export function configuredFiles(root: string): readonly string[] {
  return readdirSync(root)
    .filter((name) => name.endsWith('.config.ts'))
    .flatMap((name) => readFileSync(join(root, name), 'utf8').match(/[\w./-]+\.ts(?=')/g) ?? [])
    .map((path) => posix.normalize(path));
}

/** Every .ts file that may import another, with paths from the root. */
export function readModules(root: string): readonly SourceFile[] {
  return tops
    .flatMap((top) => readdirSync(join(root, top), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((path) => ({ path: relative(root, path).split('\\').join('/'), text: readFileSync(path, 'utf8') }));
}
