// The committed protocol code is what buf makes of proto/, byte for byte.
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../../..');
const generated = 'src/api/cri/generated';

async function texts(dir: string): Promise<Record<string, string>> {
  const names = (await readdir(dir, { recursive: true })).filter((name) => name.endsWith('.ts')).sort();
  const pairs = names.map(async (name) => [name, await readFile(join(dir, name), 'utf8')] as const);
  return Object.fromEntries(await Promise.all(pairs));
}

test('generated code equals what proto/ yields; `npx buf generate` mends a failure', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'kubelet-proto-'));
  try {
    const buf = join(root, 'node_modules/.bin/buf');
    await promisify(execFile)(buf, ['generate', '--output', dir], { cwd: root });
    const [fresh, committed] = await Promise.all([texts(join(dir, generated)), texts(join(root, generated))]);
    expect(Object.keys(committed)).toEqual(Object.keys(fresh));
    expect(Object.keys(fresh)).toContain('runtime/v1/api.ts');
    for (const [name, text] of Object.entries(fresh)) {
      expect(committed[name] === text, `${generated}/${name} is stale`).toBe(true);
    }
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});
