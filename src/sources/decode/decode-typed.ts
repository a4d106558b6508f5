// Decodes a parsed document into an API object whose fields have the types of the API.
// Invariant: a mismatch is a problem with path and line, never a silently converted value; unknown fields are omitted and listed. Upstream: the JSON decoder under k8s.io/apimachinery's serializer.
import { Quantity } from '../../api/quantity/quantity.ts';
import { describeError } from '../../base/errors.ts';
import { isObject } from '../../base/guards.ts';
import { type FieldType, fieldType, type ScalarType } from '../schema/schema.ts';
import { describeNode, type ManifestNode, type Places } from './manifest-node.ts';

interface TypedResult {
  readonly value: Readonly<Record<string, unknown>>;
  /** `line 7: spec.containers: must be a list, not a string` */
  readonly problems: readonly string[];
  /** `spec.contaners (line 5)` */
  readonly unknownFields: readonly string[];
}

export function decodeTyped(node: ManifestNode, struct: string, path: string, places: Places): TypedResult {
  const decoder = new Decoder(places);
  const value = decoder.decode(node, { is: 'struct', name: struct }, path);
  return {
    value: isObject(value) ? value : {},
    problems: decoder.problems,
    unknownFields: decoder.unknownFields,
  };
}

const int32 = { low: -(2n ** 31n), high: 2n ** 31n - 1n };
const int64 = { low: -(2n ** 63n), high: 2n ** 63n - 1n };
const rfc3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[-+]\d{2}:\d{2})$/;

class Decoder {
  readonly problems: string[] = [];
  readonly unknownFields: string[] = [];
  readonly #places: Places;

  readonly #scalars: Readonly<Record<ScalarType, (node: ManifestNode, path: string) => unknown>> = {
    string: (node, path) => (isString(node) ? node.value : this.#mismatch(node, 'a string', path)),
    bool: (node, path) => this.#bool(node, path),
    int32: (node, path) => this.#integer(node, int32, path),
    int64: (node, path) => this.#integer(node, int64, path),
    intOrString: (node, path) =>
      isString(node) ? node.value : this.#integer(node, int32, path, 'a whole number or a string'),
    quantity: (node, path) => this.#quantity(node, path),
    time: (node, path) => this.#time(node, path),
    any: (node) => plain(node),
  };

  constructor(places: Places) {
    this.#places = places;
  }

  decode(node: ManifestNode, type: FieldType, path: string): unknown {
    if (type.is === 'struct') return this.#struct(node, type.name, path);
    if (type.is === 'list') return this.#list(node, type.of, path);
    if (type.is === 'map') return this.#map(node, type.of, path);
    return this.#scalars[type.name](node, path);
  }

  #struct(node: ManifestNode, name: string, path: string): unknown {
    if (node.kind !== 'map') return this.#mismatch(node, 'a map', path);
    const object: Record<string, unknown> = {};
    for (const [key, value] of node.entries) {
      const at = path === '' ? key : `${path}.${key}`;
      const type = fieldType(name, key);
      if (type === undefined) this.unknownFields.push(`${at} (line ${this.#places.at(value.offset).line})`);
      // A null field counts as absent.
      else if (!isNull(value)) object[key] = this.decode(value, type, at);
    }
    return object;
  }

  #list(node: ManifestNode, of: FieldType, path: string): unknown {
    if (node.kind !== 'list') return this.#mismatch(node, 'a list', path);
    return node.items.map((item, index) =>
      isNull(item) ? zeroOf(of) : this.decode(item, of, `${path}[${index}]`),
    );
  }

  #map(node: ManifestNode, of: FieldType, path: string): unknown {
    if (node.kind !== 'map') return this.#mismatch(node, 'a map', path);
    const entries = [...node.entries].map(([key, value]): [string, unknown] => [
      key,
      isNull(value) ? zeroOf(of) : this.decode(value, of, `${path}[${key}]`),
    ]);
    // A label may be named __proto__; an assignment would lose it.
    return Object.fromEntries(entries);
  }

  #bool(node: ManifestNode, path: string): unknown {
    if (node.kind === 'scalar' && typeof node.value === 'boolean') return node.value;
    return this.#mismatch(node, 'true or false', path);
  }

  #integer(
    node: ManifestNode,
    range: { low: bigint; high: bigint },
    path: string,
    wanted = 'a whole number',
  ): unknown {
    const value = node.kind === 'scalar' ? node.value : undefined;
    if (typeof value !== 'bigint' && !Number.isInteger(value)) return this.#mismatch(node, wanted, path);
    const exact = BigInt(value as number | bigint);
    if (exact >= range.low && exact <= range.high) return Number(exact);
    return this.#problem(node, path, `${exact} is out of range`);
  }

  #quantity(node: ManifestNode, path: string): unknown {
    const value = node.kind === 'scalar' ? node.value : undefined;
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'bigint')
      return this.#mismatch(node, 'a quantity', path);
    const text = String(value).trim();
    try {
      Quantity.parse(text);
      // Unchanged: the UID of a static pod depends on the spelling.
      return text;
    } catch (err) {
      return this.#problem(node, path, `"${text}" is not a quantity: ${describeError(err)}`);
    }
  }

  #time(node: ManifestNode, path: string): unknown {
    if (isString(node) && rfc3339.test(node.value) && !Number.isNaN(Date.parse(node.value)))
      return node.value;
    return this.#problem(node, path, 'must be a time like 2006-01-02T15:04:05Z');
  }

  #mismatch(node: ManifestNode, wanted: string, path: string): undefined {
    return this.#problem(node, path, `must be ${wanted}, not ${describeNode(node)}`);
  }

  #problem(node: ManifestNode, path: string, problem: string): undefined {
    const { line } = this.#places.at(node.offset);
    this.problems.push(`line ${line}: ${path === '' ? problem : `${path}: ${problem}`}`);
    return undefined;
  }
}

function isNull(node: ManifestNode): boolean {
  return node.kind === 'scalar' && node.value === null;
}

function isString(node: ManifestNode): node is ManifestNode & { kind: 'scalar'; value: string } {
  return node.kind === 'scalar' && typeof node.value === 'string';
}

/** The zero value that replaces null in lists and maps. */
function zeroOf(type: FieldType): unknown {
  if (type.is === 'list') return [];
  if (type.is !== 'scalar') return {};
  if (type.name === 'bool') return false;
  if (type.name === 'quantity') return '0';
  return type.name === 'string' ? '' : 0;
}

function plain(node: ManifestNode): unknown {
  if (node.kind === 'list') return node.items.map(plain);
  if (node.kind === 'map')
    return Object.fromEntries([...node.entries].map(([key, value]) => [key, plain(value)]));
  return typeof node.value === 'bigint' ? Number(node.value) : node.value;
}
