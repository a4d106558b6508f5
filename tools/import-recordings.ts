// Rewrites the recordings in test/replay and src/status/fixtures. Usage: node tools/run-ts.mjs tools/import-recordings.ts FOLDER
// FOLDER has NAME.yaml (what was applied) and NAME.json (what happened) per scenario. Format the results with biome.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { ConfigMap, Pod, Secret } from '../src/api/k8s/types.ts';
import type { PlainRequests } from '../test/replay/recording.ts';
import type { Applied, Recorded } from './recordings/recorded.ts';
import { convertReplay } from './recordings/replay.ts';
import { convertScenario } from './recordings/scenario.ts';

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  console.error('usage: node tools/run-ts.mjs tools/import-recordings.ts FOLDER');
  process.exit(2);
}
const plain = readJson('test/replay/base.json') as PlainRequests;
const names = readdirSync(folder)
  .filter((file) => file.endsWith('.json'))
  .map((file) => basename(file, '.json'));
for (const name of names) {
  const recorded = readJson(join(folder, `${name}.json`)) as Recorded;
  const applied = readApplied(readFileSync(join(folder, `${name}.yaml`), 'utf8'));
  writeJson(`test/replay/${name}.json`, convertReplay(recorded, applied, plain));
  writeJson(`src/status/fixtures/${name}.json`, convertScenario(recorded, applied));
}
console.log(`recordings: ${names.length} scenarios from ${folder}`);

function readApplied(text: string): Applied {
  const documents = parseAllDocuments(text).map((document) => document.toJS() as { kind: string });
  const pod = documents.find(({ kind }) => kind === 'Pod') as Pod | undefined;
  if (pod === undefined) throw new Error('no pod in the manifest');
  const objects = documents.filter(({ kind }) => kind !== 'Pod') as unknown as (ConfigMap | Secret)[];
  return { pod, objects };
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'));
}

function writeJson(path: string, value: unknown): void {
  writeFileSync(path, `${JSON.stringify(value, undefined, 2)}\n`);
}
