// Renders the lists that a strategic merge patch merges, by kind and path, with the field that identifies an element; an empty
// one means a set of plain values. Any other list is replaced as a whole, so nothing below it is listed.
import { generatedHeader } from './render-types.ts';
import { type Struct, structNamed, structOf, type Table } from './table.ts';

export const mergeKeysPath = 'src/api/k8s/generated/merge-keys.ts';

/** One constant per kind, so that a bundle contains only the kinds that are used. */
export function renderMergeKeys(table: Table): string {
  const byKind = new Map<string, string>();
  for (const struct of table.types.values()) {
    if (struct.object === undefined || !struct.fields.some(({ type }) => type === 'meta/v1.ObjectMeta'))
      continue;
    const { kind } = struct.object;
    const entries = mergedLists(table, struct, '').map(([path, key]) => `  '${path}': '${key}',\n`);
    const code = `{\n${entries.join('')}}`;
    // Events exist in two groups.
    if ((byKind.get(kind) ?? code) !== code) throw new RangeError(`two kinds are called ${kind}`);
    byKind.set(kind, code);
  }
  const kinds = [...byKind].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const constants = kinds.map(([kind, code]) => `export const ${constantName(kind)}: MergeKeys = ${code};\n`);
  const index = kinds.map(([kind]) => `  ${kind}: ${constantName(kind)},\n`);
  return `${generatedHeader(table.release)}
type MergeKeys = Readonly<Record<string, string>>;

${constants.join('\n')}
export const mergeKeysByKind: Readonly<Record<string, MergeKeys>> = {
${index.join('')}};
`;
}

function constantName(kind: string): string {
  return `mergeKeysOf${kind}`;
}

function mergedLists(table: Table, struct: Struct, prefix: string): (readonly [path: string, key: string])[] {
  return struct.fields.flatMap(({ name, type, mergeKey }) => {
    const path = `${prefix}${name}`;
    const inner = structOf(type);
    const isReplaced = type.startsWith('{}') || (type.startsWith('[]') && mergeKey === undefined);
    const below =
      inner === undefined || isReplaced ? [] : mergedLists(table, structNamed(table, inner), `${path}.`);
    return mergeKey === undefined ? below : [[path, mergeKey] as const, ...below];
  });
}
