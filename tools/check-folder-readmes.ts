// The command behind `make readmes`: prints every folder whose README.md is missing or too long, and fails if there is one.
import { checkFolderReadmes, readFolders } from './folder-readmes.ts';

const folders = readFolders(process.cwd());
const faults = checkFolderReadmes(folders);
for (const fault of faults) console.error(fault);
if (faults.length > 0) {
  console.error(`readmes: ${faults.length} faults in ${folders.length} folders`);
  process.exitCode = 1;
} else {
  console.log(`readmes: ${folders.length} folders, no fault`);
}
