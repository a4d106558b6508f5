// Writes what is generated from the configuration tables: the reference pages in docs/, and the lists of settings
// without effect between their markers in README.md and docs/parity.md.
// Usage: node tools/run-ts.mjs tools/docs.ts
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { referencePages } from '../src/config/docs.ts';
import { generatedBlocks, withBlock } from '../src/config/missing-docs.ts';

for (const [name, text] of Object.entries(referencePages())) writeFileSync(join('docs', name), text);
for (const [page, block] of Object.entries(generatedBlocks())) {
  writeFileSync(page, withBlock(readFileSync(page, 'utf8'), block));
}
