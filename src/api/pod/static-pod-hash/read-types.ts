// Parses the type tables (types-*.ts) into a tree for the printer.
// A line is a struct's name and its fields, `Name:type=json`. The default type is string, the default JSON name the Go name
// with its leading capitals lowered. `=.` inlines a struct into the same JSON object, `=-` is never set. Indented lines
// continue the previous one. Names without a package belong to the package core. A later line replaces an earlier one of the
// same name, or changes it with `-Name` and `+Name:type`.
// Invariant: the tree is built once and is immutable; no type contains itself.
// Upstream: Go's reflection over pkg/apis/core/types.go.

export interface GoField {
  /** The prefix of the value: `Name:(type)`. */
  readonly label: string;
  /** The JSON name; undefined if the field is never set. */
  readonly json: string | undefined;
  /** The struct's fields are inlined into the enclosing JSON object. */
  readonly inline: boolean;
  readonly type: GoType;
}

export type GoType =
  | { readonly kind: 'scalar'; readonly zero: string }
  | { readonly kind: 'pointer'; readonly to: GoType }
  | { readonly kind: 'slice'; readonly of: GoType }
  | { readonly kind: 'map'; readonly of: GoType }
  | { readonly kind: 'struct'; readonly fields: readonly GoField[] }
  | { readonly kind: 'quantity'; readonly wholeMillis: boolean }
  | { readonly kind: 'time' }
  | { readonly kind: 'int-or-string' }
  | { readonly kind: 'raw-json' };

const string: GoType = { kind: 'scalar', zero: '' };
const integer: GoType = { kind: 'scalar', zero: '0' };

const knownTypes: ReadonlyMap<string, GoType> = new Map<string, GoType>([
  ['bool', { kind: 'scalar', zero: 'false' }],
  ['int32', integer],
  ['int64', integer],
  ['map[string]string', { kind: 'map', of: string }],
  // The API's defaults round the values of every resource list of a pod up to milli.
  ['ResourceList', { kind: 'map', of: { kind: 'quantity', wholeMillis: true } }],
  ['resource.Quantity', { kind: 'quantity', wholeMillis: false }],
  ['intstr.IntOrString', { kind: 'int-or-string' }],
  ['v1.Time', { kind: 'time' }],
  ['v1.FieldsV1', { kind: 'raw-json' }],
]);

/** The type `root` with all nested types. */
export function readTypes(root: string, tables: readonly string[]): GoType {
  const lines = new Map<string, readonly string[]>();
  for (const line of tables.join('').replaceAll('\n  ', ' ').split('\n')) {
    const [name, ...fields] = line.split(' ');
    if (name !== undefined && name !== '') lines.set(name, changeFields(lines.get(name) ?? [], fields));
  }
  const built = new Map(knownTypes);

  const build = (name: string): GoType => {
    const found = built.get(name);
    if (found !== undefined) return found;
    const type = buildNew(name);
    built.set(name, type);
    return type;
  };
  const buildNew = (name: string): GoType => {
    if (name.startsWith('*')) return { kind: 'pointer', to: build(name.slice(1)) };
    if (name.startsWith('[]')) return { kind: 'slice', of: build(name.slice(2)) };
    const fields = lines.get(name);
    // Every other name is a string type of the API.
    if (fields === undefined) return string;
    return { kind: 'struct', fields: fields.map(field) };
  };
  const field = (text: string): GoField => {
    const [declared = '', json] = text.split('=');
    const [name = '', type = 'string'] = declared.split(':');
    return {
      label: `${name}:(${qualify(type)})`,
      json: json === '-' ? undefined : (json ?? jsonName(name)),
      inline: json === '.',
      type: build(type),
    };
  };
  return build(root);
}

function changeFields(before: readonly string[], line: readonly string[]): readonly string[] {
  const removed = new Set(line.filter((field) => field.startsWith('-')).map((field) => field.slice(1)));
  const added = line.filter((field) => field.startsWith('+')).map((field) => field.slice(1));
  if (removed.size + added.length < line.length) return line;
  return [...before.filter((field) => !removed.has(field.split(/[:=]/, 1)[0] ?? '')), ...added];
}

/** `HTTPGet` → `httpGet`, `OS` → `os`, `PodIPs` → `podIPs`. */
function jsonName(name: string): string {
  return name.replace(/^[A-Z]+(?![a-z])|^[A-Z]/, (capitals) => capitals.toLowerCase());
}

/** `[]Volume` → `[]core.Volume`. */
function qualify(type: string): string {
  return type.replace(/^(\*|\[\])?(?=[A-Z])/, '$1core.');
}
