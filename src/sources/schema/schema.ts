// Looks up the type of a manifest's field, so that decoding can name the offending field.
// Invariant: every type that a field refers to is defined. Upstream: the Go structs that a manifest is decoded into.
import { podFields } from './generated/pod-fields.ts';

export type FieldType =
  | { readonly is: 'scalar'; readonly name: ScalarType }
  | { readonly is: 'list'; readonly of: FieldType }
  | { readonly is: 'map'; readonly of: FieldType }
  | { readonly is: 'struct'; readonly name: string };

const scalarTypes = ['string', 'bool', 'int32', 'int64', 'quantity', 'intOrString', 'time', 'any'] as const;
export type ScalarType = (typeof scalarTypes)[number];

export function parseType(text: string): FieldType {
  if (text.startsWith('[]')) return { is: 'list', of: parseType(text.slice(2)) };
  if (text.startsWith('{}')) return { is: 'map', of: parseType(text.slice(2)) };
  const scalar = scalarTypes.find((name) => name === text);
  return scalar === undefined ? { is: 'struct', name: text } : { is: 'scalar', name: scalar };
}

/** The type of a struct's field; undefined for an unknown field. */
export function fieldType(struct: string, field: string): FieldType | undefined {
  const fields = podFields[struct];
  if (fields === undefined) throw new RangeError(`no such type: ${struct}`);
  const text = Object.hasOwn(fields, field) ? fields[field] : undefined;
  return text === undefined ? undefined : parseType(text);
}
