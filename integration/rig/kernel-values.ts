// Kernel settings that a kubelet changes at its start: the values from before the first rig are restored after the
// last.
// Invariant: the file with the values is written once, by the first rig, and removed when they are restored.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { kernelSettings } from '../../src/startup/node-requirements.ts';

const memory = '/tmp/krig-kernel.json';
const sysctls = '/proc/sys';

export function saveKernelValues(): void {
  const names = Object.keys(kernelSettings).filter((name) => existsSync(join(sysctls, name)));
  const values = names.map((name) => [name, readFileSync(join(sysctls, name), 'utf8').trim()] as const);
  try {
    writeFileSync(memory, JSON.stringify(Object.fromEntries(values)), { flag: 'wx', mode: 0o600 });
  } catch {
    // Another rig has saved the original values before.
  }
}

/** Only called for the last rig on the machine. */
export function restoreKernelValues(): void {
  if (!existsSync(memory)) return;
  const values = JSON.parse(readFileSync(memory, 'utf8')) as Readonly<Record<string, string>>;
  for (const name of Object.keys(kernelSettings)) {
    const before = values[name];
    const path = join(sysctls, name);
    if (before !== undefined && readFileSync(path, 'utf8').trim() !== before) writeFileSync(path, before);
  }
  rmSync(memory, { force: true });
}
