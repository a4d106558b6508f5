// Settings of the kernel that a kubelet changes at its start: what they were before the first rig is put back after the last.
// Invariant: the file that remembers them is written once, by whoever comes first, and goes when they are put back.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { kernelSettings } from '../../src/startup/node-requirements.ts';

const memory = '/tmp/krig-kernel.json';
const sysctls = '/proc/sys';

export function rememberKernelValues(): void {
  const names = Object.keys(kernelSettings).filter((name) => existsSync(join(sysctls, name)));
  const values = names.map((name) => [name, readFileSync(join(sysctls, name), 'utf8').trim()] as const);
  try {
    writeFileSync(memory, JSON.stringify(Object.fromEntries(values)), { flag: 'wx', mode: 0o600 });
  } catch {
    // Somebody was here first, and knows better.
  }
}

/** Only for the last rig on this machine. */
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
