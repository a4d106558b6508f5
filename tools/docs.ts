// Writes the reference pages that are generated from the configuration tables into docs/.
// Usage: node tools/run-ts.mjs tools/docs.ts
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { referencePages } from '../src/config/docs.ts';

for (const [name, text] of Object.entries(referencePages())) writeFileSync(join('docs', name), text);
