// `$(NAME)` in commands, arguments and values. Pure. Upstream: third_party/forked/golang/expansion.
// Invariants: `$$` is a literal `$`; a name that is not known stays as it was written.

export function expandVariables(text: string, values: ReadonlyMap<string, string>): string {
  return text.replace(/\$(\$|\(([^)]*)\))/g, (whole, escaped: string, name: string | undefined) =>
    escaped === '$' ? '$' : (values.get(name ?? '') ?? whole),
  );
}
