import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findDrift } from './generated.ts';

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'generated-'));
});
afterEach(() => rmSync(root, { recursive: true }));

function put(files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

const page = { name: 'page', generate: () => ({ 'docs/a.md': 'a' }) };
const code = {
  name: 'code',
  folder: 'src/generated',
  generate: async () => ({ 'src/generated/x/b.ts': 'b' }),
};

const cases = [
  ['everything as generated', { 'docs/a.md': 'a', 'src/generated/x/b.ts': 'b' }, []],
  [
    'nothing generated yet',
    {},
    [
      { path: 'docs/a.md', wanted: 'a' },
      { path: 'src/generated/x/b.ts', wanted: 'b' },
    ],
  ],
  ['an edited file', { 'docs/a.md': 'A', 'src/generated/x/b.ts': 'b' }, [{ path: 'docs/a.md', wanted: 'a' }]],
  [
    'a leftover in a generated folder',
    { 'docs/a.md': 'a', 'src/generated/x/b.ts': 'b', 'src/generated/old.ts': '' },
    [{ path: 'src/generated/old.ts', wanted: undefined }],
  ],
  ['another file in a shared folder', { 'docs/a.md': 'a', 'docs/b.md': '', 'src/generated/x/b.ts': 'b' }, []],
] as const;
for (const [name, files, drift] of cases) {
  test(`findDrift: ${name}`, async () => {
    put(files);
    expect(await findDrift(root, [page, code])).toEqual(drift);
  });
}
