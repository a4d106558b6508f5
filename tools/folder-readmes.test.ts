import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkFolderReadmes, readFolders } from './folder-readmes.ts';

test.each([
  ['a title and a few lines', '# pleg: what the runtime has\nOwns it.\n', []],
  ['twelve lines', `# pleg: x\n${'line\n'.repeat(11)}`, []],
  [
    'thirteen lines',
    `# pleg: x\n${'line\n'.repeat(12)}`,
    ['src/pleg/README.md: has 13 lines, at most 12 are allowed'],
  ],
  ['no title', 'Owns it.\n', ['src/pleg/README.md: does not begin with a title (# name: what it owns)']],
  ['no README', undefined, ['src/pleg: has no README.md']],
])('%s', (_, readme, faults) => expect(checkFolderReadmes([{ path: 'src/pleg', readme }])).toEqual(faults));

test('finds every folder that holds modules itself, and skips data', () => {
  const root = mkdtempSync(join(tmpdir(), 'folder-readmes-'));
  try {
    for (const folder of [
      'src/a/b',
      'src/a/fixtures',
      'test',
      'integration',
      'bench',
      'tools',
      'examples',
      'dashboard',
    ])
      mkdirSync(join(root, folder), { recursive: true });
    for (const file of ['src/a/b/c.ts', 'src/a/fixtures/d.ts', 'tools/e.ts'])
      writeFileSync(join(root, file), '');
    writeFileSync(join(root, 'src/a/b/README.md'), '# b: x\n');
    expect(readFolders(root)).toEqual([
      { path: 'src/a/b', readme: '# b: x\n' },
      { path: 'tools', readme: undefined },
    ]);
  } finally {
    rmSync(root, { recursive: true });
  }
});
