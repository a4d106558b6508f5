// docs/doctor.md has a row for each check, in the order of the output, and none that does not exist.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { checks } from './checks.ts';

test('docs/doctor.md lists the checks', () => {
  const page = readFileSync(new URL('../../docs/doctor.md', import.meta.url), 'utf8');
  const table = page.slice(page.indexOf('## Checks'));
  const names = Array.from(table.matchAll(/^\| `([a-z-]+)` \|/gm), ([, name]) => name);
  expect(names).toEqual(checks.map(({ name }) => name));
});
