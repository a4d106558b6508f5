// The format of the API's type tables.

/** Struct name → field → type: a scalar, `[]T` for a list, `{}T` for a map with string keys, or a struct's name. */
export type TypeTable = Readonly<Record<string, Readonly<Record<string, string>>>>;
