// Finds what the composition root must not do: subscribe, wait, loop, keep state, define classes. It names which part is
// plugged into which; everything else belongs to a feature.
import type { Ban } from './bans.ts';
import { type AstNode, isNode, type Module, walk } from './parse.ts';

const statefulClasses: ReadonlySet<string> = new Set(['Channel', 'Map', 'Set', 'WeakMap', 'KeyedQueue']);

const bannedStatements: Readonly<Record<string, string>> = {
  AwaitExpression: 'assemble/ waits for nothing',
  ClassDeclaration: 'a class belongs to a feature',
  ForStatement: 'a loop decides and belongs to a feature',
  ForOfStatement: 'a loop decides and belongs to a feature',
  ForInStatement: 'a loop decides and belongs to a feature',
  WhileStatement: 'a loop decides and belongs to a feature',
  DoWhileStatement: 'a loop decides and belongs to a feature',
  TryStatement: 'errors are handled by a feature',
  ThrowStatement: 'errors are raised by a feature',
};

export function findCompositionBans(module: Module): readonly Ban[] {
  const bans: Ban[] = [];
  walk(module.ast, (node) => {
    const what = bannedStatements[node.type] ?? findBan(node);
    if (what !== undefined) bans.push({ line: module.lineAt(node.start), what });
  });
  return bans;
}

function findBan(node: AstNode): string | undefined {
  const { callee } = node;
  if (node.type === 'VariableDeclaration' && node['kind'] !== 'const') return 'state belongs to a feature';
  if (!isNode(callee)) return undefined;
  if (node.type === 'NewExpression' && statefulClasses.has(String(callee['name'])))
    return 'state belongs to a feature';
  const { property } = callee;
  if (node.type === 'CallExpression' && isNode(property) && property['name'] === 'subscribe')
    return 'a component declares its wake-ups in `wakes`';
  return undefined;
}
