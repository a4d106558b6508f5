// Renders the fields that a pod manifest may contain, for the strict decoder: struct, field, type.
// Only what a pod reaches, since the kubelet's bundle contains it. Invariant: no two structs have the same base name.
import { generatedHeader } from './render-types.ts';
import { baseName, reachable, structOf, type Table } from './table.ts';

export const decodePath = 'src/sources/schema/generated/pod-fields.ts';

export function renderDecodeSchema(table: Table): string {
  const structs = reachable(table, ['core/v1.Pod']);
  const lines = structs.map(({ name, fields }) => {
    const entries = fields.map((field) => `${field.name}: '${shortType(field.type)}'`);
    return `  ${baseName(name)}: { ${entries.join(', ')} },\n`;
  });
  const names = structs.map(({ name }) => baseName(name));
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw new RangeError(`two types are called ${twice}`);
  return `${generatedHeader(table.release)}import type { TypeTable } from '../type-table.ts';

export const podFields: TypeTable = {
${lines.join('')}};
`;
}

function shortType(type: string): string {
  const struct = structOf(type);
  return struct === undefined ? type : type.replace(struct, baseName(struct));
}
