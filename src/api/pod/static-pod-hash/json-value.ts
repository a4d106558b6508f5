// What a manifest can hold once it is parsed. Types and the questions asked of every value.

export type Json = string | number | bigint | boolean | null | undefined | readonly Json[] | JsonObject;

export interface JsonObject {
  readonly [name: string]: Json;
}

export function isAbsent(json: Json): json is null | undefined {
  return json === null || json === undefined;
}

/** The text of a plain value; an object or a list where a plain value belongs counts as absent. */
export function plainText(json: Json, absent: string): string {
  return isAbsent(json) || typeof json === 'object' ? absent : String(json);
}

export function isList(json: Json): json is readonly Json[] {
  return Array.isArray(json);
}

export function isObject(json: Json): json is JsonObject {
  return typeof json === 'object' && json !== null && !isList(json);
}
