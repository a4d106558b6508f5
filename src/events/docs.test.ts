// docs/events.md lists only reasons that the kubelet emits, and all that upstream's recordings contain.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..', '..');
const documented = [
  ...readFileSync(join(root, 'docs', 'events.md'), 'utf8').matchAll(/^\| (.*?) \| (?:Normal|Warning) \|/gm),
].flatMap(([, cell = '']) => [...cell.matchAll(/`(\w+)`/g)].map(([, reason = '']) => reason));

const source = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts') && !/\.test\.ts$|generated|fixtures/.test(path))
  .map((path) => readFileSync(join(root, 'src', path), 'utf8'))
  .join('\n');

test.each([...new Set(documented)])('the documented reason %s is emitted by the kubelet', (reason) => {
  expect(source).toContain(`'${reason}'`);
});

test('every recorded reason is documented', () => {
  const folder = join(root, 'test', 'replay');
  const recorded = readdirSync(folder)
    .filter((file) => file.endsWith('.json') && file !== 'base.json')
    .flatMap(
      (file) =>
        (JSON.parse(readFileSync(join(folder, file), 'utf8')) as { events: readonly string[] }).events,
    )
    .map((event) => event.split(' ')[1] ?? '')
    .filter((reason) => !reason.startsWith('OutOf'));
  expect([...new Set(recorded)].filter((reason) => !documented.includes(reason))).toEqual([]);
});
