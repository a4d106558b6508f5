// Checks the layer rule of ARCHITECTURE.md on every file under src/ and test/: imports, cycles, and the bans on clocks,
// timers, randomness, I/O and module state outside base/, edge/ and entry/. There is no exceptions list: a file that
// needs an exception is in the wrong folder.
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, relative } from 'node:path';
import { findBans } from './bans.ts';
import { findCompositionBans } from './composition.ts';
import { findCycles } from './cycles.ts';
import { importsOf, type ModuleImport, parseModule } from './parse.ts';
import { findPathRemovals } from './removal.ts';

export interface SourceFile {
  /** From the repository's root, with slashes: src/pods/desired.ts */
  readonly path: string;
  readonly text: string;
}

/** The layer of a folder under src/. A folder that has no layer of its own is a feature. */
type Layer = 'entry' | 'assemble' | 'base' | 'api' | 'edge' | 'test' | 'feature' | 'unknown';

interface Place {
  readonly layer: Layer;
  readonly folder: string;
  readonly isTest: boolean;
}

const namedLayers: ReadonlySet<string> = new Set(['entry', 'assemble', 'base', 'api', 'edge']);

/** Node's modules without I/O. */
const pureNodeModules: ReadonlySet<string> = new Set(
  'assert async_hooks buffer crypto events path path/posix querystring stream stream/promises string_decoder url util zlib'
    .split(' ')
    .map((name) => `node:${name}`),
);

/** Packages without I/O; every other one belongs to edge/. */
const purePackages: ReadonlySet<string> = new Set(['yaml', '@bufbuild/protobuf', 'lru-cache']);

const testPackages: ReadonlySet<string> = new Set(['vitest', 'fast-check']);

function placeOf(path: string): Place {
  const isTest = path.endsWith('.test.ts');
  const [top, folder = '', ...rest] = path.split('/');
  if (top === 'test') return { layer: 'test', folder: 'test', isTest };
  if (rest.length === 0) return { layer: 'unknown', folder: '', isTest };
  const layer = namedLayers.has(folder) ? (folder as Layer) : 'feature';
  return { layer, folder, isTest };
}

/** The reason why `from` must not import `to`; undefined if it may. */
function localImportFault(from: Place, to: Place): string | undefined {
  if (to.isTest) return 'a test is not a library';
  if (from.layer === 'entry' || from.layer === 'test') return undefined;
  if (to.layer === 'test') return from.isTest ? undefined : 'only tests may import test/';
  if (from.folder === to.folder) return undefined;
  if (to.layer === 'entry') return 'nothing but tests may import entry/';
  if (from.layer === 'assemble') return undefined;
  if (to.layer === 'assemble') return 'only entry/ may import assemble/';
  if (to.layer === 'base') return undefined;
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

/** Deciders and loops. Their tests may do I/O, but must not wait or keep module state. */
function isBanned(place: Place): boolean {
  return place.layer === 'feature' || place.layer === 'api' || place.layer === 'assemble';
}

function externalImportFault(from: Place, what: ModuleImport): string | undefined {
  const { specifier } = what;
  const name = packageName(specifier);
  if (specifier.startsWith('node:')) {
    if (!isBanned(from) || from.isTest || what.typeOnly || pureNodeModules.has(specifier)) return undefined;
    return `${specifier} is I/O and belongs to edge/`;
  }
  if (testPackages.has(name)) {
    return from.isTest || from.layer === 'test' ? undefined : `only tests may import ${name}`;
  }
  const anyPackage = from.layer === 'entry' || from.layer === 'edge' || from.layer === 'test';
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
  if (!specifier.startsWith('.')) return externalImportFault(from, what);
  const target = posix.normalize(posix.join(posix.dirname(file.path), specifier));
  if (!target.startsWith('src/') && !target.startsWith('test/')) {
    return from.isTest || from.layer === 'test' ? undefined : `${target} is outside src/`;
  }
  if (!known.has(target)) return `${target} does not exist (imports carry the .ts extension)`;
  return localImportFault(from, placeOf(target));
}

/** One line per fault, in the order of the files. */
export function checkLayers(files: readonly SourceFile[]): readonly string[] {
  const known = new Set(files.map((file) => file.path));
  const faults: string[] = [];
  const graph = new Map<string, string[]>();
  for (const file of files) {
    const place = placeOf(file.path);
    if (place.layer === 'unknown') {
      faults.push(`${file.path}: no file lies directly in src/, every file belongs to a folder`);
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
    if (place.layer === 'assemble' && !place.isTest)
      for (const ban of findCompositionBans(module)) faults.push(`${file.path}:${ban.line}: ${ban.what}`);
    if (!place.isTest && place.layer !== 'test')
      for (const ban of findPathRemovals(module)) faults.push(`${file.path}:${ban.line}: ${ban.what}`);
  }
  for (const cycle of findCycles(graph)) faults.push(`import cycle: ${cycle.join(' → ')}`);
  return faults;
}

/** Every .ts file under src/ and test/, with paths from the root. */
export function readSources(root: string): readonly SourceFile[] {
  return ['src', 'test']
    .flatMap((top) => readdirSync(join(root, top), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((path) => ({
      path: relative(root, path).split('\\').join('/'),
      text: readFileSync(path, 'utf8'),
    }));
}
