// A pod with a writable hostPath on the log directory swaps its log directories for links while the kubelet removes them.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type LinkSwapper, swapLinks } from '../../../test/clients/link-swapper.ts';
import { effort, manyFilesRoot } from '../../../test/effort.ts';
import { PodFiles } from './pod-files.ts';

const victims = 300;

let dir: string;
let outside: string;
let attacker: LinkSwapper | undefined;
beforeEach(() => {
  dir = mkdtempSync(join(manyFilesRoot(), 'pod-files-attack-'));
  outside = join(dir, 'outside');
  mkdirSync(outside);
  for (let at = 0; at < victims; at++) writeFileSync(join(outside, `${at}`), 'theirs');
});
afterEach(() => {
  attacker?.kill();
  rmSync(dir, { recursive: true });
});

test('removes the pod’s logs and nothing that swapped-in links lead to', async () => {
  const logs = join(dir, 'logs/ns_pod_uid');
  const names = Array.from({ length: 12 }, (_, at) => `app-${at}`);
  // Created outside and moved in, so that the test itself does not write through a link.
  const fill = (): void => {
    mkdirSync(logs, { recursive: true });
    for (const name of names) {
      const staged = mkdtempSync(join(dir, 'staged-'));
      for (let at = 0; at < 20; at++) writeFileSync(join(staged, `${at}.log`), '');
      ignoreErrors(() => renameSync(staged, join(logs, name)));
      ignoreErrors(() => symlinkSync(outside, join(logs, `evil-${name}`)));
    }
  };
  fill();
  attacker = await swapLinks(
    names.map((name) => [join(logs, name), join(logs, `evil-${name}`)]),
    1,
  );
  const files = new PodFiles();
  for (let turn = 0; turn < effort(8, 40); turn++) {
    await files.removeTree(logs).catch(() => undefined);
    fill();
  }
  expect(await attacker.end()).toBeGreaterThan(0);
  await files.removeTree(logs);
  expect([existsSync(logs), readdirSync(outside).length]).toEqual([false, victims]);
}, 120_000);

/** Ignores errors: the entry may exist already, or the attacker is between two renames. */
function ignoreErrors(work: () => void): void {
  try {
    work();
  } catch {
    // The next turn fills what is missing.
  }
}
