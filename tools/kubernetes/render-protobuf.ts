// Renders the protobuf messages of a pod: one text per struct, `name:type@number`, with `*` behind a pointer. Texts, because they
// cost little until a message is first encoded. Invariant: every field of a pod but kind and apiVersion has a number.
import { generatedHeader } from './render-types.ts';
import { baseName, reachable, structOf, type Table } from './table.ts';

export const protobufPath = 'src/api/k8s/generated/pod-messages.ts';

export function renderProtobuf(table: Table): string {
  const lines = reachable(table, ['core/v1.Pod']).map(({ name, fields }) => {
    const entries = fields.flatMap((field) => {
      const inner = structOf(field.type);
      const type = inner === undefined ? field.type : field.type.replace(inner, baseName(inner));
      if (field.number === undefined) {
        if (field.name === 'apiVersion' || field.name === 'kind') return [];
        throw new RangeError(`${name}.${field.name} has no protobuf number`);
      }
      return [`${field.name}:${type}@${field.number}${field.pointer ? '*' : ''}`];
    });
    return `  ${baseName(name)}: '${entries.join(' ')}',\n`;
  });
  return `${generatedHeader(table.release)}
export const podMessages: Readonly<Record<string, string>> = {
${lines.join('')}};
`;
}
