// Finds recursive removal by path. The kubelet is root, and pods can write to directories that it removes: a pod that swaps a
// directory for a link during the removal has files of its choice deleted. edge/volumes/remove-directory.ts reaches every
// entry through an open descriptor instead.
import type { Ban } from './bans.ts';
import { type AstNode, isNode, type Module, walk } from './parse.ts';

/** Calls with `recursive` that remove nothing. Any other call with it counts as a removal, under any name. */
const harmless: ReadonlySet<string> = new Set(['mkdir', 'mkdirSync', 'readdir', 'readdirSync', 'watch']);

export function findPathRemovals(module: Module): readonly Ban[] {
  const bans: Ban[] = [];
  walk(module.ast, (node) => {
    if (node.type !== 'CallExpression' || !Array.isArray(node['arguments'])) return;
    if (!node['arguments'].some((one: unknown) => isNode(one) && isRecursive(one))) return;
    if (harmless.has(calledName(node['callee']))) return;
    bans.push({
      line: module.lineAt(node.start),
      what: 'recursive removal by path follows swapped-in links, use removeDirectory of edge/volumes',
    });
  });
  return bans;
}

/** An object with a property `recursive` other than false. */
function isRecursive(node: AstNode): boolean {
  if (node.type !== 'ObjectExpression' || !Array.isArray(node['properties'])) return false;
  return node['properties'].some((one: unknown) => {
    if (!isNode(one) || !isNode(one['key'])) return false;
    const { key, value } = one;
    const name = isNode(key) ? (key['name'] ?? key['value']) : undefined;
    return name === 'recursive' && !(isNode(value) && value['value'] === false);
  });
}

function calledName(callee: unknown): string {
  if (!isNode(callee)) return '';
  const named = callee.type === 'MemberExpression' ? callee['property'] : callee;
  return isNode(named) ? String(named['name']) : '';
}
