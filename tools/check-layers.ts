// The command behind `make layers`: prints every violation of the layer rule; fails if there is one.
import { checkLayers, readSources } from './layers/layers.ts';

const files = readSources(process.cwd());
const faults = checkLayers(files);
for (const fault of faults) console.error(fault);
if (faults.length > 0) {
  console.error(`layers: ${faults.length} faults in ${files.length} files`);
  process.exitCode = 1;
} else {
  console.log(`layers: ${files.length} files, no fault`);
}
