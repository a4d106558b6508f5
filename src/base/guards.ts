// Type guards for values of unknown type.

/** A plain object, such as a JSON object. Not null, and not an array. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** For filter(): drops null and undefined from the type of the elements. */
export function isPresent<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null;
}
