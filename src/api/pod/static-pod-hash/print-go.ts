// Prints a value as Go dumps structures for hashing: every field with its name and type, in declaration order, maps by sorted
// keys, nothing quoted. Invariant: absent and null print the zero value; an empty list or map differs from an absent one.
// Upstream: github.com/davecgh/go-spew (the %#v form) as configured by apimachinery/pkg/util/dump (ForHash).
import { goJsonString } from '../../k8s/go-json.ts';
import { printQuantity, readGoQuantity, roundUpToMillis } from './go-quantity.ts';
import { printLocation, readGoTime } from './go-time.ts';
import { isAbsent, isList, isObject, type Json, type JsonObject, plainText } from './json-value.ts';
import type { GoField, GoType } from './read-types.ts';

/** One dump. It keeps where the time zone was printed, since a repetition deeper down is only marked as shown. */
export class GoPrinter {
  #zoneDepth: number | undefined;

  /** Prints `json` without the name of its type. `depth` counts the enclosing structs, lists and maps. */
  print(type: GoType, json: Json, depth: number): string {
    switch (type.kind) {
      case 'scalar':
        return plainText(json, type.zero);
      case 'pointer':
        this.#passPointer(depth);
        return isAbsent(json) ? '<nil>' : this.print(type.to, json, depth);
      case 'slice':
        if (!isList(json)) return '<nil>';
        return `[${json.map((item) => this.print(type.of, item, depth + 1)).join(' ')}]`;
      case 'map':
        return isObject(json) ? this.#printMap(type.of, json, depth + 1) : '<nil>';
      case 'struct':
        return `{${type.fields.map((field) => this.#printField(field, json, depth + 1)).join(' ')}}`;
      case 'quantity':
        return this.#printQuantity(json, type.wholeMillis, depth);
      case 'time':
        return this.#printTime(json, depth);
      case 'int-or-string':
        return printIntOrString(json);
      case 'raw-json':
        return `{Raw:([]uint8)[${new TextEncoder().encode(sortedJson(json)).join(' ')}]}`;
      default:
        return type satisfies never;
    }
  }

  #printField(field: GoField, json: Json, depth: number): string {
    const { type, label, inline } = field;
    if (inline) return label + this.print(type, json, depth);
    const value = field.json === undefined || !isObject(json) ? undefined : json[field.json];
    return label + this.print(type, value, depth);
  }

  #printMap(of: GoType, json: JsonObject, depth: number): string {
    const keys = Object.keys(json).sort(compareBytes);
    return `map[${keys.map((key) => `${key}:${this.print(of, json[key], depth)}`).join(' ')}]`;
  }

  #printQuantity(json: Json, wholeMillis: boolean, depth: number): string {
    this.#passPointer(depth + 2);
    const quantity = readGoQuantity(json);
    return printQuantity(wholeMillis ? roundUpToMillis(quantity) : quantity);
  }

  #printTime(json: Json, depth: number): string {
    this.#passPointer(depth + 2);
    const { wall, ext, set } = readGoTime(json);
    return `{Time:(time.Time){wall:(uint64)${wall} ext:(int64)${ext} loc:(*time.Location)${this.#zone(set, depth + 2)}}}`;
  }

  #zone(set: boolean, depth: number): string {
    if (!set) return '<nil>';
    if (this.#zoneDepth !== undefined) return '<shown>';
    this.#zoneDepth = depth;
    return printLocation();
  }

  /** A pointer, nil or not, makes the dumper forget the pointers of its own depth and deeper. */
  #passPointer(depth: number): void {
    if (this.#zoneDepth !== undefined && this.#zoneDepth >= depth) this.#zoneDepth = undefined;
  }
}

function printIntOrString(json: Json): string {
  const isText = typeof json === 'string';
  const number = isText ? '0' : plainText(json, '0');
  return `{Type:(intstr.Type)${isText ? 1 : 0} IntVal:(int32)${number} StrVal:(string)${isText ? json : ''}}`;
}

/** Go compares strings by UTF-8 bytes, whose order differs from UTF-16's above the surrogates. */
function compareBytes(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at++) {
    const a = one.charCodeAt(at);
    const b = other.charCodeAt(at);
    if (a !== b) return aboveSurrogates(a) - aboveSurrogates(b);
  }
  return one.length - other.length;
}

/** Moves U+E000 to U+FFFF below the surrogates, which encode higher code points. */
function aboveSurrogates(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit >= 0xe000 ? unit - 0x800 : unit + 0x2000;
}

/** The JSON that upstream makes of YAML before decoding: no blanks, sorted keys. */
function sortedJson(json: Json): string {
  if (typeof json === 'string') return goJsonString(json);
  if (isAbsent(json) || typeof json !== 'object') return plainText(json, 'null');
  if (isList(json)) return `[${json.map(sortedJson).join(',')}]`;
  const keys = Object.keys(json).sort(compareBytes);
  return `{${keys.map((key) => `${goJsonString(key)}:${sortedJson(json[key])}`).join(',')}}`;
}
