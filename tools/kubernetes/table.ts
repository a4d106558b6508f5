// The table of Kubernetes types: its model, and its text form in `types.txt`, one line per type and one per field.
// Invariants: `parseTable(formatTable(table))` equals `table`; every struct that a field refers to is in the table.
/** From the root of the repository. */
export const tablePath = 'tools/kubernetes/types.txt';

export interface Table {
  /** The release that the table was made from: v1.37.0 */
  readonly release: string;
  /** By qualified name: `core/v1.Pod`. */
  readonly types: ReadonlyMap<string, Struct>;
}

export interface Struct {
  readonly name: string;
  /** The apiVersion and kind of an API object; undefined for its parts and for what several groups share. */
  readonly object: { readonly apiVersion: string; readonly kind: string } | undefined;
  readonly fields: readonly Field[];
}

export interface Field {
  readonly name: string;
  /** A scalar, `[]T` for a list, `{}T` for a map with string keys, or the qualified name of a struct. */
  readonly type: string;
  /** The protobuf field number; `2.1` is field 1 of the message that Go embeds as field 2. */
  readonly number: string | undefined;
  readonly required: boolean;
  /** A pointer in Go: it distinguishes an absent value from a zero value. */
  readonly pointer: boolean;
  /** The list is merged by a strategic merge patch: by this field of its elements, or as a set if empty. */
  readonly mergeKey: string | undefined;
  /** A merge patch of the object replaces its other members ($retainKeys). */
  readonly retainKeys: boolean;
  /** The keys of the elements under server-side apply, if the list is a map. */
  readonly listKeys: readonly string[];
  /** JSON text. */
  readonly default: string | undefined;
}

const scalarTypes = [
  'string',
  'bool',
  'int32',
  'int64',
  'bytes',
  'quantity',
  'intOrString',
  'time',
  'microTime',
  'any',
] as const;
const scalars: ReadonlySet<string> = new Set(scalarTypes);

/** The struct's name in `[]core/v1.Container`; undefined if the type is built of scalars only. */
export function structOf(type: string): string | undefined {
  const inner = type.replace(/^(?:\[\]|\{\})+/, '');
  return scalars.has(inner) ? undefined : inner;
}

/** `core/v1` of `core/v1.Pod`. */
export function packageOf(qualified: string): string {
  return qualified.slice(0, qualified.lastIndexOf('.'));
}

/** `Pod` of `core/v1.Pod`. */
export function baseName(qualified: string): string {
  return qualified.slice(qualified.lastIndexOf('.') + 1);
}

/** The structs that `roots` refer to, directly or not, in the order of the table. */
export function reachable(table: Table, roots: readonly string[]): readonly Struct[] {
  const reached = new Set<string>();
  const open = [...roots];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (reached.has(name)) continue;
    reached.add(name);
    for (const { type } of structNamed(table, name).fields) {
      const inner = structOf(type);
      if (inner !== undefined) open.push(inner);
    }
  }
  return [...table.types.values()].filter(({ name }) => reached.has(name));
}

export function structNamed(table: Table, name: string): Struct {
  const struct = table.types.get(name);
  if (struct === undefined) throw new RangeError(`the table has no type ${name}`);
  return struct;
}

const header = [
  '# The Kubernetes types that the kubelet uses. `make kubernetes-types` writes this file; README.md explains it.',
  '# A field: name, type, @ and its protobuf number, and what else holds for it.',
];

export function formatTable(table: Table): string {
  const lines = [...header, `release ${table.release}`];
  for (const { name, object, fields } of table.types.values()) {
    lines.push('', object === undefined ? name : `${name} ${object.apiVersion} ${object.kind}`);
    for (const field of fields) lines.push(`  ${formatField(field, packageOf(name))}`);
  }
  return `${lines.join('\n')}\n`;
}

function formatField(field: Field, home: string): string {
  const inner = structOf(field.type);
  const isHome = inner !== undefined && packageOf(inner) === home;
  const type = isHome ? field.type.replace(inner, baseName(inner)) : field.type;
  return [
    field.name,
    type,
    ...(field.number === undefined ? [] : [`@${field.number}`]),
    ...(field.required ? ['required'] : []),
    ...(field.pointer ? ['pointer'] : []),
    ...(field.mergeKey === undefined ? [] : [`merge=${field.mergeKey}`]),
    ...(field.retainKeys ? ['retainKeys'] : []),
    ...(field.listKeys.length === 0 ? [] : [`keys=${field.listKeys.join(',')}`]),
    ...(field.default === undefined ? [] : [`default=${field.default}`]),
  ].join(' ');
}

export function parseTable(text: string): Table {
  let release = '';
  const types = new Map<string, Struct & { fields: Field[] }>();
  let current: (Struct & { fields: Field[] }) | undefined;
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    if (line.startsWith('release ')) release = line.slice('release '.length);
    else if (line.startsWith('  ')) {
      if (current === undefined) throw new SyntaxError(`a field before any type: ${line}`);
      current.fields.push(parseField(line.trim(), packageOf(current.name)));
    } else {
      const [name = '', apiVersion, kind] = line.split(' ');
      const object = apiVersion === undefined || kind === undefined ? undefined : { apiVersion, kind };
      current = { name, object, fields: [] };
      types.set(name, current);
    }
  }
  return { release, types };
}

function parseField(line: string, home: string): Field {
  const [name = '', text = '', ...marks] = line.split(' ');
  const inner = structOf(text);
  const type = inner === undefined || inner.includes('/') ? text : text.replace(inner, `${home}.${inner}`);
  const valueOf = (prefix: string): string | undefined =>
    marks.find((mark) => mark.startsWith(prefix))?.slice(prefix.length);
  return {
    name,
    type,
    number: valueOf('@'),
    required: marks.includes('required'),
    pointer: marks.includes('pointer'),
    mergeKey: valueOf('merge='),
    retainKeys: marks.includes('retainKeys'),
    listKeys: valueOf('keys=')?.split(',') ?? [],
    default: valueOf('default='),
  };
}
