// Reads from Go's struct declarations what OpenAPI does not have: the order of the fields, their protobuf numbers, which of
// them are pointers, and which structs are embedded. Only tags and types are read; comments are not.
// Upstream: types.go in staging/src/k8s.io/api/<group>/<version> and in apimachinery's meta/v1.

export interface GoField {
  /** The name in JSON. */
  readonly name: string;
  /** Undefined if the field is not part of the message, such as kind and apiVersion. */
  readonly number: string | undefined;
  readonly pointer: boolean;
}

interface Declared extends GoField {
  /** The struct whose fields become fields of this one in JSON. */
  readonly embedded: string | undefined;
}

/** The fields of every struct in the order of declaration, those of embedded structs in their place. */
export function readGoStructs(source: string): ReadonlyMap<string, readonly GoField[]> {
  const declared = readDeclarations(source);
  const flatten = (fields: readonly Declared[], prefix: string | undefined): GoField[] =>
    fields.flatMap(({ name, number, pointer, embedded }) => {
      const path = number === undefined || prefix === undefined ? undefined : `${prefix}${number}`;
      if (embedded === undefined) return [{ name, number: path, pointer }];
      const inner = declared.get(embedded);
      // Kind and apiVersion come from another package; they are not part of the message.
      if (inner === undefined) return [];
      return flatten(inner, path === undefined ? undefined : `${path}.`);
    });
  return new Map([...declared].map(([name, fields]) => [name, flatten(fields, '')]));
}

function readDeclarations(source: string): Map<string, Declared[]> {
  const structs = new Map<string, Declared[]>();
  let fields: Declared[] | undefined;
  for (const line of source.split('\n')) {
    const opened = /^type (\w+) struct \{$/.exec(line)?.[1];
    if (opened !== undefined) {
      fields = [];
      structs.set(opened, fields);
    } else if (line === '}') fields = undefined;
    const field = fields === undefined ? undefined : readField(line);
    if (field !== undefined) fields?.push(field);
  }
  return structs;
}

function readField(line: string): Declared | undefined {
  // An embedded struct has no name of its own.
  const match = /^\t(?:\w+\s+)?(\S+)\s+`([^`]*)`/.exec(line);
  if (match === null || line.startsWith('\t//')) return undefined;
  const [, goType = '', tags = ''] = match;
  const name = /json:"([^",]*)/.exec(tags)?.[1];
  if (name === undefined || name === '-') return undefined;
  const number = /protobuf:"\w+,(\d+)/.exec(tags)?.[1];
  return { name, number, pointer: goType.startsWith('*'), embedded: name === '' ? goType : undefined };
}
