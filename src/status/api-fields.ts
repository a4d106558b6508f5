// How a status is written as JSON: times with second precision, absent fields left out, fields in the API's own order.
// Invariant: two statuses that mean the same are deeply equal and print the same text.
// Upstream: apimachinery's metav1.Time and the field order of k8s.io/api/core/v1.

/** A time that never was. The API writes it as null where the field is always there; the types only know the text. */
export const noTime = null as unknown as string;

/** RFC 3339 in UTC, cut to the second, since that is all the API keeps. */
export function apiTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** Leaves out what is undefined, so that "not set" has one spelling. */
export function present<T extends object>(fields: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}

export function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}

/** The fields of `value` in this order; those it does not name come last. */
export function inOrder<T extends object>(value: T, order: readonly (keyof T & string)[]): T {
  const ordered: Record<string, unknown> = {};
  const fields: Record<string, unknown> = Object.fromEntries(Object.entries(value));
  for (const name of order) if (fields[name] !== undefined) ordered[name] = fields[name];
  return { ...ordered, ...fields } as T;
}
