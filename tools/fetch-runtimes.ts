// The command behind `make runtimes`: downloads the container runtimes named as arguments (all by default) into the cache. Exits
// with `skippedCode` if a runtime is missing and the Debian mirror is unreachable.
import { repositoryRoot } from '../integration/rig/repository.ts';
import { fetchRuntime, MirrorUnreachable } from './runtimes/fetch-runtime.ts';
import { releases } from './runtimes/releases.ts';

/** EX_TEMPFAIL of sysexits.h. */
const skippedCode = 75;

const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(releases);
for (const name of names) {
  try {
    const { packages } = await fetchRuntime(repositoryRoot(), name);
    console.log(`runtimes: ${name} is containerd ${packages['containerd']}, runc ${packages['runc']}`);
  } catch (err) {
    console.error(`runtimes: ${name}: ${err instanceof Error ? err.message : String(err)}`);
    process.exitCode = err instanceof MirrorUnreachable && process.exitCode === undefined ? skippedCode : 1;
  }
}
