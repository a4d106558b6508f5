// Parses a TypeScript module for the static checks and lists its imports.
import { parseAst } from 'vitest/node';

export interface AstNode {
  readonly type: string;
  readonly start: number;
  readonly [key: string]: unknown;
}

export interface Module {
  readonly ast: AstNode;
  lineAt(offset: number): number;
}

export interface ModuleImport {
  /** Empty if the import's name is computed. */
  readonly specifier: string;
  readonly typeOnly: boolean;
  readonly line: number;
}

export function isNode(value: unknown): value is AstNode {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

export function parseModule(path: string, text: string): Module {
  let ast: unknown;
  try {
    ast = parseAst(text, { lang: path.endsWith('.tsx') ? 'tsx' : 'ts' }, path);
  } catch (cause) {
    throw new Error(`${path} does not parse`, { cause });
  }
  if (!isNode(ast)) throw new Error(`${path} does not parse`);
  return { ast, lineAt: (offset) => text.slice(0, offset).split('\n').length };
}

/** Calls `visit` for `node` and each node below it, with the node's ancestors, outermost first. */
export function walk(
  node: AstNode,
  visit: (node: AstNode, parents: readonly AstNode[]) => void,
  parents: readonly AstNode[] = [],
): void {
  visit(node, parents);
  const below = [...parents, node];
  for (const value of Object.values(node)) {
    if (Array.isArray(value)) {
      for (const item of value) if (isNode(item)) walk(item, visit, below);
    } else if (isNode(value)) {
      walk(value, visit, below);
    }
  }
}

function literal(node: unknown): string {
  return isNode(node) && typeof node['value'] === 'string' ? node['value'] : '';
}

/** True for `import { type A }` as for `import type { A }`: both are erased. */
function isTypeOnly(node: AstNode): boolean {
  if (node['importKind'] === 'type' || node['exportKind'] === 'type') return true;
  const specifiers = Array.isArray(node['specifiers']) ? node['specifiers'].filter(isNode) : [];
  return (
    specifiers.length > 0 &&
    specifiers.every((one) => one['importKind'] === 'type' || one['exportKind'] === 'type')
  );
}

export function importsOf(module: Module): readonly ModuleImport[] {
  const found: ModuleImport[] = [];
  const add = (node: AstNode, source: unknown, typeOnly: boolean): void => {
    found.push({ specifier: literal(source), typeOnly, line: module.lineAt(node.start) });
  };
  walk(module.ast, (node) => {
    switch (node.type) {
      case 'ImportDeclaration':
      case 'ExportAllDeclaration':
        add(node, node['source'], isTypeOnly(node));
        break;
      case 'ExportNamedDeclaration':
        if (isNode(node['source'])) add(node, node['source'], isTypeOnly(node));
        break;
      case 'ImportExpression':
        add(node, node['source'], false);
        break;
      case 'TSImportType':
        add(node, node['source'] ?? node['argument'], true);
        break;
      case 'TSExternalModuleReference':
        add(node, node['expression'], false);
        break;
      default:
    }
  });
  return found;
}
