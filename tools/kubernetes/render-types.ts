// Renders the table as TypeScript interfaces, one file per API group and version: src/api/k8s/generated/core-v1.ts.
// The JSON form: quantities, times and enumerations are strings; an object of one kind has it and its apiVersion as literals.
import { baseName, packageOf, type Struct, structOf, type Table } from './table.ts';

export const typesFolder = 'src/api/k8s/generated';

const scalarCode: Readonly<Record<string, string>> = {
  string: 'string',
  bool: 'boolean',
  int32: 'number',
  int64: 'number',
  bytes: 'string',
  quantity: 'string',
  intOrString: 'number | string',
  time: 'string',
  microTime: 'string',
  any: 'Record<string, unknown>',
};

export function renderTypes(table: Table): Readonly<Record<string, string>> {
  const structs = [...table.types.values()];
  const packages = new Set(structs.map(({ name }) => packageOf(name)));
  return Object.fromEntries(
    [...packages].map((pkg) => [
      `${typesFolder}/${fileName(pkg)}`,
      renderPackage(
        pkg,
        structs.filter(({ name }) => packageOf(name) === pkg),
        table.release,
      ),
    ]),
  );
}

/** The first lines of every file that is generated from the table. */
export function generatedHeader(release: string): string {
  return `// Code generated from tools/kubernetes/types.txt (Kubernetes ${release}) by \`make generate\`. DO NOT EDIT.\n`;
}

function fileName(pkg: string): string {
  return `${pkg.replace('/', '-')}.ts`;
}

function renderPackage(pkg: string, structs: readonly Struct[], release: string): string {
  const used = new Set(structs.flatMap(({ fields }) => fields.flatMap(({ type }) => structOf(type) ?? [])));
  const foreign = [...used].filter((name) => packageOf(name) !== pkg).toSorted();
  const imports = [...new Set(foreign.map(packageOf))].map((from) => {
    const names = foreign.filter((name) => packageOf(name) === from).map(baseName);
    return `import type { ${names.join(', ')} } from './${fileName(from)}';\n`;
  });
  return [generatedHeader(release) + imports.join(''), ...structs.map(renderStruct)].join('\n');
}

function renderStruct({ name, object, fields }: Struct): string {
  const literals: Readonly<Record<string, string>> = { ...object };
  const lines = fields.map((field) => {
    const literal = literals[field.name];
    return `  ${field.name}${field.required ? '' : '?'}: ${literal === undefined ? typeCode(field.type) : `'${literal}'`};\n`;
  });
  return `export interface ${baseName(name)} {\n${lines.join('')}}\n`;
}

function typeCode(type: string): string {
  if (type.startsWith('[]')) return `Array<${typeCode(type.slice(2))}>`;
  if (type.startsWith('{}')) return `Record<string, ${typeCode(type.slice(2))}>`;
  return scalarCode[type] ?? baseName(type);
}
