// The JSON form of a status: times with second precision, unset fields omitted, fields in the API's order.
// Invariant: two statuses with the same meaning are deeply equal and serialise to the same text.
// Upstream: apimachinery's metav1.Time and the field order of k8s.io/api/core/v1.

/** A zero time. The API writes null where the field is not optional; the generated types declare a string only. */
export const noTime = null as unknown as string;

/** RFC 3339 in UTC, truncated to the second: the API's precision. */
export function apiTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** Omits undefined fields, so that an unset field has one representation. */
export function present<T extends object>(fields: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}

export function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}

/** The fields of `value` in this order; fields not listed come last. */
export function inOrder<T extends object>(value: T, order: readonly (keyof T & string)[]): T {
  const ordered: Record<string, unknown> = {};
  const fields: Record<string, unknown> = Object.fromEntries(Object.entries(value));
  for (const name of order) if (fields[name] !== undefined) ordered[name] = fields[name];
  return { ...ordered, ...fields } as T;
}
