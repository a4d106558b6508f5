import { expect, test } from 'vitest';
import { formatTable } from './table.ts';
import { widthOf } from './width.ts';

const plain = { columns: undefined, colours: false };

test('aligns columns and omits blanks at the end of lines', () => {
  const rows = [
    ['a', '1', 'x'],
    ['longer', '', ''],
  ];
  expect(formatTable(['NAME', 'N', 'WHY'], rows, plain)).toEqual([
    'NAME     N   WHY',
    'a        1   x',
    'longer',
  ]);
});

test('aligns wide characters', () => {
  expect(formatTable(['A', 'B'], [['日本', 'x']], plain)).toEqual(['A      B', '日本   x']);
});

test('no line is longer than the terminal, however narrow it is', () => {
  const rows = [['default/a-long-name', 'Running', 'a sentence that is long']];
  for (let columns = 0; columns < 60; columns++)
    for (const line of formatTable(['POD', 'STATUS', 'WHY'], rows, { columns, colours: false }))
      expect(widthOf(line)).toBeLessThanOrEqual(columns);
  expect(formatTable(['POD', 'STATUS', 'WHY'], rows, { columns: 40, colours: false })[1]).toBe(
    'default/a-long-name   Running   a sente…',
  );
});

test('colours do not change the alignment', () => {
  const rows = [[{ text: 'x', tone: 'bad' as const }, 'y']];
  expect(formatTable(['A', 'B'], rows, { columns: 20, colours: true })).toEqual([
    '\u001b[1mA\u001b[0m   \u001b[1mB\u001b[0m',
    '\u001b[31mx\u001b[0m   y',
  ]);
});
