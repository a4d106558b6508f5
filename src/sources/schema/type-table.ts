// The form in which the types of the API are written down here.

/** Struct name → field → type: a scalar, `[]T` for a list, `{}T` for a map with string keys, or a struct's name. */
export type TypeTable = Readonly<Record<string, Readonly<Record<string, string>>>>;
