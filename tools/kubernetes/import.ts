// The command behind `make kubernetes-types`: makes tools/kubernetes/types.txt from a release, and the files generated from it.
// Arguments: the release's name, the root of its sources, and the folder of its OpenAPI v3 documents if it is another one.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type GoField, readGoStructs } from './read-go.ts';
import { makeTable, type OpenApiDocument } from './read-openapi.ts';
import { renderAll } from './render.ts';
import { roots } from './roots.ts';
import { formatTable, tablePath } from './table.ts';

const [name, sources, openapi = join(sources ?? '', 'api/openapi-spec/v3')] = process.argv.slice(2);
if (!name || !sources) {
  console.error('usage: make kubernetes-types RELEASE=v1.37.0 SOURCES=dir [OPENAPI=dir]');
  process.exit(2);
}

const documents = readdirSync(openapi)
  .filter((file) => file.endsWith('.json'))
  .map((file): OpenApiDocument => JSON.parse(readFileSync(join(openapi, file), 'utf8')));

const packages = new Map<string, ReadonlyMap<string, readonly GoField[]>>();
function goStructs(pkg: string): ReadonlyMap<string, readonly GoField[]> {
  const known = packages.get(pkg);
  if (known !== undefined) return known;
  const folder = pkg.startsWith('meta/') ? `apimachinery/pkg/apis/${pkg}` : `api/${pkg}`;
  const read = readGoStructs(
    readFileSync(join(sources ?? '', 'staging/src/k8s.io', folder, 'types.go'), 'utf8'),
  );
  packages.set(pkg, read);
  return read;
}

const table = makeTable({ name, documents, goStructs }, roots);
const files = { [tablePath]: formatTable(table), ...renderAll(table) };
for (const [path, text] of Object.entries(files)) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
console.log(`kubernetes-types: wrote ${table.types.size} types of ${name}`);
