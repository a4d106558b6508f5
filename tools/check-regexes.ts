// The command behind `make regexes`: prints every regular expression that is not linear; fails if there is one.
import { readSources } from './layers/layers.ts';
import { checkRegexes } from './regexes/regexes.ts';

const faults = await checkRegexes(readSources(process.cwd()));
for (const fault of faults) console.error(fault);
if (faults.length > 0) {
  console.error(`regexes: ${faults.length} faults`);
  process.exitCode = 1;
} else {
  console.log('regexes: no fault');
}
