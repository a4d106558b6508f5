// Finds folders without a README.md, and READMEs that are longer than a screen's corner. Every folder that holds .ts files
// has one, in the manner of Go's doc.go: what the folder owns, its entry file, its invariant, upstream's counterpart.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const tops = ['src', 'test', 'integration', 'bench', 'tools', 'examples', 'dashboard'];
const longestLines = 12;
const skipped = new Set(['fixtures', 'golden', 'generated', 'node_modules']);

interface Folder {
  readonly path: string;
  /** Undefined when it has none. */
  readonly readme: string | undefined;
}

export function checkFolderReadmes(folders: readonly Folder[]): readonly string[] {
  return folders.flatMap(({ path, readme }) => {
    if (readme === undefined) return [`${path}: has no README.md`];
    const lines = readme.trimEnd().split('\n');
    const faults: string[] = [];
    if (!/^# \S/.test(readme))
      faults.push(`${path}/README.md: does not begin with a title (# name: what it owns)`);
    if (lines.length > longestLines)
      faults.push(`${path}/README.md: has ${lines.length} lines, at most ${longestLines} are allowed`);
    return faults;
  });
}

/** The folders that hold .ts files themselves, with paths from the root. */
export function readFolders(root: string): readonly Folder[] {
  return tops.flatMap((top) => below(root, top));
}

function below(root: string, path: string): readonly Folder[] {
  const entries = readdirSync(join(root, path), { withFileTypes: true });
  const readme = join(root, path, 'README.md');
  const hasModules = entries.some((entry) => entry.isFile() && /\.tsx?$/.test(entry.name));
  const own = { path, readme: existsSync(readme) ? readFileSync(readme, 'utf8') : undefined };
  const folders = entries.filter((entry) => entry.isDirectory() && !skipped.has(entry.name));
  return [...(hasModules ? [own] : []), ...folders.flatMap(({ name }) => below(root, `${path}/${name}`))];
}
