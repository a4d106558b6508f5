// The values of a parsed manifest, and their type guards.

export type Json = string | number | bigint | boolean | null | undefined | readonly Json[] | JsonObject;

export interface JsonObject {
  readonly [name: string]: Json;
}

export function isAbsent(json: Json): json is null | undefined {
  return json === null || json === undefined;
}

/** The text of a scalar; an object or list in its place counts as absent. */
export function plainText(json: Json, absent: string): string {
  return isAbsent(json) || typeof json === 'object' ? absent : String(json);
}

export function isList(json: Json): json is readonly Json[] {
  return Array.isArray(json);
}

export function isObject(json: Json): json is JsonObject {
  return typeof json === 'object' && json !== null && !isList(json);
}
