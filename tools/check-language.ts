// The command behind `make language`: prints every word of the old dialect and fails if there is one.
// `--by-folder` prints counts per folder only, and never fails. Paths after it are prefixes to check.
import { dirname } from 'node:path';
import { checkLanguage, formatFault, readTexts } from './language/language.ts';

const [first, ...rest] = process.argv.slice(2);
const isByFolder = first === '--by-folder';
const prefixes = isByFolder || first === undefined ? rest : [first, ...rest];
const files = readTexts(process.cwd()).filter(
  ({ path }) => prefixes.length === 0 || prefixes.some((prefix) => path.startsWith(prefix)),
);
const faults = checkLanguage(files);
if (isByFolder) {
  const counts = new Map<string, number>();
  for (const { path } of faults) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
  for (const [folder, count] of [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    console.log(`${String(count).padStart(6)}  ${folder}`);
  console.log(`${String(faults.length).padStart(6)}  in all`);
} else if (faults.length > 0) {
  for (const fault of faults) console.error(formatFault(fault));
  console.error(`language: ${faults.length} faults in ${files.length} files`);
  process.exitCode = 1;
} else {
  console.log(`language: ${files.length} files, no fault`);
}
