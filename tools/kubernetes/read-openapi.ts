// Makes the table of a release from its OpenAPI v3 documents (fields, types, patch strategies, list keys, defaults) and the Go
// structs (order, protobuf numbers, pointers). Throws if one has a field that the other lacks: they are of different releases.
import { type GoField } from './read-go.ts';
import { type Field, packageOf, type Struct, structOf, type Table } from './table.ts';

export interface Schema {
  readonly $ref?: string;
  readonly allOf?: readonly Schema[];
  readonly type?: string;
  readonly format?: string;
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly default?: unknown;
  readonly 'x-kubernetes-patch-strategy'?: string;
  readonly 'x-kubernetes-patch-merge-key'?: string;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-group-version-kind'?: readonly { group: string; version: string; kind: string }[];
}

/** A served document has its schemas under `components`. */
export interface OpenApiDocument {
  readonly schemas?: Readonly<Record<string, Schema>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

interface Release {
  readonly name: string;
  readonly documents: readonly OpenApiDocument[];
  /** The structs of a package such as `core/v1`. */
  readonly goStructs: (pkg: string) => ReadonlyMap<string, readonly GoField[]>;
}

/** Schemas that are one value in JSON. */
const scalarSchemas: Readonly<Record<string, string>> = {
  'io.k8s.apimachinery.pkg.api.resource.Quantity': 'quantity',
  'io.k8s.apimachinery.pkg.util.intstr.IntOrString': 'intOrString',
  'io.k8s.apimachinery.pkg.apis.meta.v1.Time': 'time',
  'io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime': 'microTime',
  'io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1': 'any',
  'io.k8s.apimachinery.pkg.runtime.RawExtension': 'any',
};

/** The table of the types that `roots` refer to, directly or not. */
export function makeTable(release: Release, roots: readonly string[]): Table {
  const schemas = new Map(
    release.documents.flatMap((document) =>
      Object.entries(document.schemas ?? document.components?.schemas ?? {}),
    ),
  );
  const byName = new Map([...schemas].map(([id, schema]) => [qualifiedName(id), schema]));
  const found = new Map<string, Struct>();
  const open = [...roots];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (found.has(name)) continue;
    const schema = byName.get(name);
    if (schema === undefined) throw new RangeError(`no OpenAPI document has ${name}`);
    const struct = readStruct(name, schema, release.goStructs(packageOf(name)));
    found.set(name, struct);
    open.push(...struct.fields.flatMap(({ type }) => structOf(type) ?? []));
  }
  const types = new Map([...found].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return { release: release.name, types };
}

/** `core/v1.Pod` of `io.k8s.api.core.v1.Pod`. */
function qualifiedName(id: string): string {
  const [, group, version, name] = /(?:^|\.)(\w+)\.(\w+)\.(\w+)$/.exec(id) ?? [];
  return `${group}/${version}.${name}`;
}

function readStruct(
  name: string,
  schema: Schema,
  goStructs: ReadonlyMap<string, readonly GoField[]>,
): Struct {
  const goFields = goStructs.get(name.slice(name.lastIndexOf('.') + 1));
  if (goFields === undefined) throw new RangeError(`${name} is not declared in Go`);
  const kinds = schema['x-kubernetes-group-version-kind'] ?? [];
  const [kind] = kinds;
  const object =
    kind === undefined || kinds.length > 1
      ? undefined
      : { apiVersion: kind.group === '' ? kind.version : `${kind.group}/${kind.version}`, kind: kind.kind };
  const properties = { ...schema.properties };
  const fields: Field[] = [];
  const required = new Set(schema.required);
  const add = (go: GoField): void => {
    const property = properties[go.name];
    if (property === undefined) throw new RangeError(`${name}.${go.name} is in Go but not in OpenAPI`);
    delete properties[go.name];
    fields.push(readField(go, property, required.has(go.name)));
  };
  for (const typeMeta of ['apiVersion', 'kind'])
    if (properties[typeMeta] !== undefined && !goFields.some((go) => go.name === typeMeta))
      add({ name: typeMeta, number: undefined, pointer: false });
  for (const go of goFields) add(go);
  const [extra] = Object.keys(properties);
  if (extra !== undefined) throw new RangeError(`${name}.${extra} is in OpenAPI but not in Go`);
  return { name, object, fields };
}

function readField({ name, number, pointer }: GoField, schema: Schema, required: boolean): Field {
  const strategies = schema['x-kubernetes-patch-strategy']?.split(',') ?? [];
  return {
    name,
    type: readType(schema),
    number,
    required,
    pointer,
    mergeKey:
      strategies.includes('merge') && schema.type === 'array'
        ? (schema['x-kubernetes-patch-merge-key'] ?? '')
        : undefined,
    retainKeys: strategies.includes('retainKeys'),
    listKeys: schema['x-kubernetes-list-map-keys'] ?? [],
    default: readDefault(schema.default, pointer),
  };
}

/** The documents give every value that is no pointer its zero value as the default, which has no effect. */
function readDefault(value: unknown, pointer: boolean): string | undefined {
  if (value === undefined || (typeof value === 'object' && value !== null)) return undefined;
  return pointer || Boolean(value) ? JSON.stringify(value) : undefined;
}

function readType(schema: Schema): string {
  const ref = schema.$ref ?? schema.allOf?.[0]?.$ref;
  if (ref !== undefined) {
    const id = ref.slice(ref.lastIndexOf('/') + 1);
    return scalarSchemas[id] ?? qualifiedName(id);
  }
  if (schema.type === 'array' && schema.items !== undefined) return `[]${readType(schema.items)}`;
  if (schema.type === 'object' && schema.additionalProperties !== undefined)
    return `{}${readType(schema.additionalProperties)}`;
  if (schema.type === 'string') return schema.format === 'byte' ? 'bytes' : 'string';
  if (schema.type === 'boolean') return 'bool';
  if (schema.type === 'integer' && (schema.format === 'int32' || schema.format === 'int64'))
    return schema.format;
  throw new TypeError(`a schema of unknown form: ${JSON.stringify(schema)}`);
}
