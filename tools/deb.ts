// The command behind `make deb`: packs the built kubelet as a Debian package. Prints the path of the package.
// Exits with 75 if the npm registry cannot deliver the pinned Node.js now.
import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { buildDeb } from './deb/build-deb.ts';
import { type Architecture, architectures } from './deb/control.ts';
import { RegistryUnreachable } from './deb/npm-package.ts';

const usage = `usage: tools/deb.ts [--arch=${architectures.join('|')}] [--out=DIR] [--revision=N] [--fast]`;
/** EX_TEMPFAIL of sysexits.h. */
const unreachableCode = 75;

function options(): { arch: string; out: string; revision: string; fast: boolean } {
  const { values } = parseArgs({
    options: {
      arch: { type: 'string', default: process.arch === 'arm64' ? 'arm64' : 'amd64' },
      out: { type: 'string', default: 'dist/deb' },
      revision: { type: 'string', default: '1' },
      fast: { type: 'boolean', default: false },
    },
  });
  return values;
}

/** SOURCE_DATE_EPOCH, or the time of the commit; of package.json in sources without a repository. */
function sourceDateEpoch(): number {
  const given = process.env['SOURCE_DATE_EPOCH'];
  if (given !== undefined && given !== '') {
    if (!/^[0-9]{1,12}$/.test(given))
      throw new Error(`SOURCE_DATE_EPOCH is not a number of seconds: ${given}`);
    return Number(given);
  }
  try {
    const args = ['log', '-1', '--format=%ct'];
    return Number(execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
  } catch {
    return Math.floor(statSync('package.json').mtimeMs / 1000);
  }
}

try {
  const { arch, fast, out, revision } = options();
  const architecture = architectures.find((known): known is Architecture => known === arch);
  if (architecture === undefined) throw new Error(usage);
  const root = resolve('.');
  const deb = buildDeb({
    root,
    architecture,
    revision,
    out: resolve(out),
    sourceDateEpoch: sourceDateEpoch(),
    isFast: fast,
  });
  console.log(deb);
} catch (err) {
  console.error(`deb: ${err instanceof Error ? err.message : String(err)}`);
  process.exitCode = err instanceof RegistryUnreachable ? unreachableCode : 1;
}
