// The command behind `make test-runtimes`: runs the integration tests on other containerd releases than the installed one. A
// release that the Debian mirror does not deliver now is skipped with the reason, as is everything on a machine without a rig.
// Arguments: releases and test files.
import { spawnSync } from 'node:child_process';
import { rigUnavailableReason } from '../integration/rig/prerequisites.ts';
import { repositoryRoot } from '../integration/rig/repository.ts';
import { fetchRuntime, MirrorUnreachable } from './runtimes/fetch-runtime.ts';
import { releases } from './runtimes/releases.ts';

/** 1.7 differs little from the installed 1.6: the files that depend on the runtime most. Empty: all files. */
const files: Readonly<Record<string, readonly string[]>> = {
  '1.7': [
    'cri-contract',
    'pod-lifecycle',
    'pod-cgroups',
    'image-pulls',
    'streams',
    'runtime-features',
    'runtime-outage',
    'volumes',
  ].map((name) => `integration/${name}.test.ts`),
  '2': [],
};

/** EX_TEMPFAIL of sysexits.h: nothing could run. */
const skippedCode = 75;

function runOn(name: string, wanted: readonly string[]): boolean {
  const report = `--outputFile.json=dist/reports/runtime-${name}.json`;
  const args = [
    'run',
    '--config',
    'vitest.integration.config.ts',
    '--reporter=verbose',
    '--reporter=json',
    report,
  ];
  const { status } = spawnSync('node_modules/.bin/vitest', [...args, ...wanted], {
    stdio: 'inherit',
    env: { ...process.env, RIG_CONTAINERD: name },
  });
  return status === 0;
}

const unavailable = rigUnavailableReason();
const wantedReleases = process.argv.slice(2).filter((word) => word in releases);
const wantedFiles = process.argv.slice(2).filter((word) => !(word in releases));
const lines: string[] = [];
let [failed, ran] = [false, false];
for (const name of wantedReleases.length > 0 ? wantedReleases : Object.keys(releases)) {
  if (unavailable !== undefined) {
    lines.push(`containerd ${name}: skipped: ${unavailable}`);
    continue;
  }
  try {
    const { packages } = await fetchRuntime(repositoryRoot(), name);
    const what = `containerd ${packages['containerd']}, runc ${packages['runc']}`;
    console.log(`\n── ${what} ──`);
    const ok = runOn(name, wantedFiles.length > 0 ? wantedFiles : (files[name] ?? []));
    lines.push(`${what}: ${ok ? 'ok' : 'FAILED'}`);
    ran = true;
    failed ||= !ok;
  } catch (err) {
    const isSkipped = err instanceof MirrorUnreachable;
    const why = err instanceof Error ? err.message : String(err);
    lines.push(`containerd ${name}: ${isSkipped ? 'skipped' : 'FAILED'}: ${why}`);
    failed ||= !isSkipped;
  }
}
for (const line of lines) console.log(line);
process.exitCode = failed ? 1 : ran ? 0 : skippedCode;
