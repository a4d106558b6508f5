// Checks the layer rule of ARCHITECTURE.md and the bans of its chapter "Lifecycle" on every file under src/.
// Files go in, sentences about what is wrong come out. There is no list of
// exceptions, and there is to be none: a file that needs one is in the wrong folder.
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, relative } from 'node:path';
import { findBans } from './layers-bans.ts';
import { findCycles } from './layers-cycles.ts';
import { importsOf, type ModuleImport, parseModule } from './layers-parse.ts';
import { findPathRemovals } from './layers-removal.ts';

export interface SourceFile {
  /** From the repository's root, with slashes: src/pods/desired.ts */
  readonly path: string;
  readonly text: string;
}

/** What a folder under src/ is; a folder that is none of the named ones is a feature. */
type Layer = 'root' | 'base' | 'api' | 'edge' | 'testing' | 'feature' | 'unknown';

interface Place {
  readonly layer: Layer;
  readonly folder: string;
  readonly isTest: boolean;
}

/** Only these files may know everyone. */
const rootFiles: ReadonlySet<string> = new Set([
  'src/main.ts',
  'src/command.ts',
  'src/assemble.ts',
  // An entry point of its own, like main.ts: what runs in the other thread.
  'src/decode-worker.ts',
]);

/** node's modules that compute and touch nothing outside the process. */
const pureNodeModules: ReadonlySet<string> = new Set(
  'assert async_hooks buffer crypto events path path/posix querystring stream stream/promises string_decoder url util zlib'
    .split(' ')
    .map((name) => `node:${name}`),
);

/** Packages that compute and touch nothing outside the process; every other one belongs to edge/. */
const purePackages: ReadonlySet<string> = new Set([
  'yaml',
  '@bufbuild/protobuf',
  'kubernetes-types',
  'lru-cache',
]);

const testPackages: ReadonlySet<string> = new Set(['vitest', 'fast-check']);

export function placeOf(path: string): Place {
  const isTest = path.endsWith('.test.ts');
  const parts = path.split('/');
  const folder = parts.length > 2 ? (parts[1] ?? '') : '';
  if (folder === '') {
    const layer = isTest || rootFiles.has(path) ? 'root' : 'unknown';
    return { layer, folder, isTest };
  }
  // The composition root in rooms: one file per feature that is plugged in.
  if (folder === 'assemble') return { layer: 'root', folder: '', isTest };
  if (folder === 'base' || folder === 'api' || folder === 'edge' || folder === 'testing')
    return { layer: folder, folder, isTest };
  return { layer: 'feature', folder, isTest };
}

/** Says why `from` may not import `to`; undefined when it may. */
function whyNotLocal(from: Place, to: Place, toPath: string): string | undefined {
  if (to.isTest) return 'a test is not a library';
  if (from.layer === 'root' || from.layer === 'testing') return undefined;
  if (to.layer === 'root') return `only a test beside it may import ${toPath}`;
  if (to.layer === 'testing') return from.isTest ? undefined : 'only tests may import testing/';
  if (from.folder === to.folder || to.layer === 'base') return undefined;
  if (from.layer === 'base') return 'base/ imports only itself';
  if (to.layer === 'api') return undefined;
  if (from.layer === 'api') return 'api/ imports only itself and base/';
  if (from.layer === 'edge') return 'edge/ imports only itself, base/ and api/';
  return `the feature ${from.folder}/ imports only itself, base/ and api/`;
}

function packageName(specifier: string): string {
  const parts = specifier.split('/');
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? specifier);
}

/** The bans hold for what decides and loops: features and api/. Tests may do I/O, but neither wait nor keep state. */
function isBanned(place: Place): boolean {
  return place.layer === 'feature' || place.layer === 'api';
}

function whyNotOutside(from: Place, what: ModuleImport): string | undefined {
  const { specifier } = what;
  const name = packageName(specifier);
  if (specifier.startsWith('node:')) {
    if (!isBanned(from) || from.isTest || what.typeOnly || pureNodeModules.has(specifier)) return undefined;
    return `${specifier} is I/O and belongs to edge/`;
  }
  if (testPackages.has(name)) {
    return from.isTest || from.layer === 'testing' ? undefined : `only tests and testing/ may import ${name}`;
  }
  const anyPackage = from.layer === 'root' || from.layer === 'edge' || from.layer === 'testing';
  if (anyPackage || from.isTest || purePackages.has(name)) return undefined;
  return `the package ${name} belongs to edge/`;
}

function checkImport(
  file: SourceFile,
  from: Place,
  what: ModuleImport,
  known: ReadonlySet<string>,
): string | undefined {
  const { specifier } = what;
  if (!specifier.startsWith('.')) return whyNotOutside(from, what);
  const target = posix.normalize(posix.join(posix.dirname(file.path), specifier));
  if (!target.startsWith('src/')) {
    return from.isTest || from.layer === 'testing' ? undefined : `${target} is outside src/`;
  }
  if (!known.has(target)) return `${target} does not exist (imports carry the .ts extension)`;
  return whyNotLocal(from, placeOf(target), target);
}

/** One sentence per fault, in the order of the files. */
export function checkLayers(files: readonly SourceFile[]): readonly string[] {
  const known = new Set(files.map((file) => file.path));
  const faults: string[] = [];
  const graph = new Map<string, string[]>();
  for (const file of files) {
    const place = placeOf(file.path);
    if (place.layer === 'unknown') {
      faults.push(
        `${file.path}: only main.ts, command.ts, assemble.ts, decode-worker.ts and tests lie directly in src/`,
      );
      continue;
    }
    const module = parseModule(file.path, file.text);
    const edges: string[] = [];
    for (const what of importsOf(module)) {
      const fault =
        what.specifier === ''
          ? 'an import whose name is computed cannot be checked'
          : checkImport(file, place, what, known);
      if (fault !== undefined) faults.push(`${file.path}:${what.line}: import '${what.specifier}': ${fault}`);
      if (what.specifier.startsWith('.'))
        edges.push(posix.normalize(posix.join(posix.dirname(file.path), what.specifier)));
    }
    graph.set(file.path, edges);
    if (isBanned(place)) {
      for (const ban of findBans(module, { isTest: place.isTest }))
        faults.push(`${file.path}:${ban.line}: ${ban.what}`);
    }
    if (!place.isTest && place.layer !== 'testing')
      for (const ban of findPathRemovals(module)) faults.push(`${file.path}:${ban.line}: ${ban.what}`);
  }
  for (const cycle of findCycles(graph)) faults.push(`import cycle: ${cycle.join(' → ')}`);
  return faults;
}

/** Every .ts file under src/, with paths from the root. */
export function readSources(root: string): readonly SourceFile[] {
  return readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((path) => ({
      path: relative(root, path).split('\\').join('/'),
      text: readFileSync(path, 'utf8'),
    }));
}
