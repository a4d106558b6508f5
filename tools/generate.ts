// The command behind `make generate`, which writes every generated file, and, with --check, behind `make drift`.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { findDrift, generators } from './generated.ts';

const isCheck = process.argv[2] === '--check';
const drift = await findDrift(process.cwd(), generators);
for (const { path, wanted } of drift) {
  if (isCheck) {
    console.error(
      `${path}: ${wanted === undefined ? 'is generated no longer' : 'is stale'}; run make generate`,
    );
    continue;
  }
  if (wanted === undefined) {
    rmSync(path);
  } else {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, wanted);
  }
  console.log(`${wanted === undefined ? 'removed' : 'wrote'} ${path}`);
}
if (drift.length === 0) console.log('generate: every generated file is up to date');
else if (isCheck) process.exitCode = 1;
