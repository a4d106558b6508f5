// Trees that are deeper than the limits of open files and path length, which a pod can create within a second. A process with few
// descriptors removes them, applies an fsGroup and measures them. A directory with very many entries does not block the loop.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { type BuildOptions, build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { effort, manyFilesRoot } from '../../../test/effort.ts';

const run = promisify(execFile);
const here = resolve(import.meta.dirname);
/** Even the quick variant is deeper than PATH_MAX and the descriptor limit. */
const levels = effort(2_500, 6_000);
/** Files and directories in one directory. */
const [manyFiles, manyDirectories] = [effort(10_000, 100_000), effort(1_000, 10_000)];
const descriptors = 160;

/** The tested process, with few descriptors. */
const program = `
import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, rmdirSync, statSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { VolumeFiles } from ${JSON.stringify(join(here, 'volume-files.ts'))};
const [what, root, levels] = process.argv.slice(2);
const volume = root + '/u/volumes/v';
const files = new VolumeFiles({ podsDir: root, now: () => 0, usageThread: new URL('file://' + root + '/../usage-thread.mjs') });
mkdirSync(volume, { recursive: true });
const signal = new AbortController().signal;
const result = {};
if (what === 'deep') {
  // One level at a time, since no path is long enough.
  process.chdir(volume);
  for (let at = 0; at < Number(levels); at++) { mkdirSync('d'); process.chdir('d'); }
  process.chdir('/');
  const { failed } = await files.changeOwnership({ path: volume, fsGroup: 4242, readOnly: false, onlyOnRootMismatch: false }, signal);
  process.chdir(volume);
  let regrouped = 0;
  for (let at = 0; at < Number(levels); at++) { process.chdir('d'); if (statSync('.').gid === 4242) regrouped++; }
  process.chdir('/');
  const { inodes } = await files.usage(volume, signal);
  Object.assign(result, { failed, regrouped, inodes });
} else {
  execFileSync('sh', ['-c', 'cd "$0" && seq 1 ${manyFiles} | xargs touch && seq ${manyFiles + 1} ${manyFiles + manyDirectories} | xargs mkdir', volume]);
}
const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();
await files.removeTree(volume);
delay.disable();
console.log(JSON.stringify({ ...result, exists: existsSync(volume), longestMs: Math.round(delay.max / 1e6) }));
process.exit(0);
`;

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(manyFilesRoot(), 'deep-trees-'));
  const options = {
    bundle: true,
    external: ['koffi'] as string[],
    platform: 'node',
    format: 'esm',
    logLevel: 'warning',
  } satisfies BuildOptions;
  // Where the program finds koffi.
  await symlink(resolve(here, '../../../node_modules'), join(dir, 'node_modules'));
  await build({
    ...options,
    stdin: { contents: program, resolveDir: here },
    outfile: join(dir, 'program.mjs'),
  });
  await build({
    ...options,
    entryPoints: [join(here, '../../entry/usage-thread.ts')],
    outfile: join(dir, 'usage-thread.mjs'),
  });
}, 60_000);
afterAll(async () => {
  // rm changes into each directory, so it also removes the tree of a failed test.
  await run('rm', ['-rf', dir]);
  await rm(dir, { recursive: true, force: true });
}, 120_000);

async function runProgram(what: string): Promise<Record<string, unknown>> {
  const script = `ulimit -n ${descriptors} && mkdir -p "$3/${what}" && exec "$0" "$1" "$2" "$3/${what}" ${levels}`;
  const args = ['-c', script, process.execPath, join(dir, 'program.mjs'), what, dir];
  const { stdout } = await run('sh', args, { timeout: 240_000 });
  return JSON.parse(stdout) as Record<string, unknown>;
}

const isRoot = process.getuid?.() === 0;

test.runIf(isRoot)(
  `applies an fsGroup to a tree of ${levels} levels, measures and removes it with ${descriptors} descriptors`,
  async () => {
    expect(await runProgram('deep')).toMatchObject({
      failed: 0,
      regrouped: levels,
      inodes: levels + 1,
      exists: false,
    });
  },
  240_000,
);

test(`removes a directory of ${manyFiles + manyDirectories} entries without blocking the event loop`, async () => {
  const { exists, longestMs } = await runProgram('wide');
  expect(exists).toBe(false);
  expect(longestMs).toBeLessThan(1_000);
}, 240_000);
