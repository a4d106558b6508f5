// Renders the constant defaults of a pod: those of OpenAPI and those of `go-defaults.ts`, by struct and field.
// A pointer in Go is defaulted only if absent; any other field also if it has its zero value, which Go cannot tell apart.
import type { GoDefaults } from './go-defaults.ts';
import { generatedHeader } from './render-types.ts';
import { baseName, type Field, reachable, type Struct, structNamed, type Table } from './table.ts';

export const defaultsPath = 'src/sources/defaults/generated/constant-defaults.ts';

export function renderDefaults(table: Table, goDefaults: GoDefaults): string {
  for (const [name, values] of Object.entries(goDefaults)) checkFields(structNamed(table, name), values);
  const lines = reachable(table, ['core/v1.PodSpec']).flatMap((struct) => {
    const own = struct.fields.flatMap((field) => {
      const value = field.default ?? toText(goDefaults[struct.name]?.[field.name]);
      return value === undefined ? [] : [{ field, value }];
    });
    if (own.length === 0) return [];
    const ifAbsent = renderGroup(own.filter(({ field }) => field.pointer));
    const ifEmpty = renderGroup(own.filter(({ field }) => !field.pointer));
    return [`  ${baseName(struct.name)}: { ifAbsent: ${ifAbsent}, ifEmpty: ${ifEmpty} },\n`];
  });
  return `${generatedHeader(table.release)}
type Constants = Readonly<Record<string, string | number | boolean>>;

/** By struct. ifAbsent: fields that may have their zero value. ifEmpty: fields whose zero value means absent. */
export const constantDefaults: Readonly<
  Record<string, { readonly ifAbsent: Constants; readonly ifEmpty: Constants }>
> = {
${lines.join('')}};
`;
}

function checkFields({ name, fields }: Struct, values: Readonly<Record<string, unknown>>): void {
  for (const key of Object.keys(values)) {
    const field = fields.find((each) => each.name === key);
    if (field === undefined) throw new RangeError(`${name} has no field ${key}`);
    if (field.default !== undefined)
      throw new RangeError(`OpenAPI already has the default of ${name}.${key}`);
  }
}

function toText(value: string | number | boolean | undefined): string | undefined {
  return value === undefined ? undefined : JSON.stringify(value);
}

function renderGroup(group: readonly { readonly field: Field; readonly value: string }[]): string {
  if (group.length === 0) return '{}';
  return `{ ${group.map(({ field, value }) => `${field.name}: ${value}`).join(', ')} }`;
}
