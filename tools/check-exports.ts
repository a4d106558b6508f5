// The command behind `make exports`: prints every export that no other file imports; fails if there is one.
import { checkExports, configuredFiles, readModules } from './exports.ts';

const files = readModules(process.cwd());
const faults = checkExports(files, configuredFiles(process.cwd()));
for (const fault of faults) console.error(fault);
if (faults.length > 0) {
  console.error(`exports: ${faults.length} unused in ${files.length} files`);
  process.exitCode = 1;
} else {
  console.log(`exports: ${files.length} files, no unused export`);
}
