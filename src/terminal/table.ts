// Aligned columns. Pure. Invariant: on a terminal no line is longer than it is wide; the last column is cut first.
import { paint, type Screen, type Tone } from './style.ts';
import { fitTo, padTo, widthOf } from './width.ts';

export interface Cell {
  /** Safe already. */
  readonly text: string;
  readonly tone?: Tone | undefined;
}

const gap = '   ';

/** Blanks behind the last cell of a line are omitted. */
export function formatTable(
  header: readonly string[],
  rows: readonly (readonly (string | Cell)[])[],
  screen: Screen,
): readonly string[] {
  const head = header.map((text): Cell => ({ text, tone: 'heading' }));
  const cells = [
    head,
    ...rows.map((row) => row.map((each) => (typeof each === 'string' ? { text: each } : each))),
  ];
  const widths = header.map((_, at) =>
    cells.reduce((most, row) => Math.max(most, widthOf(row[at]?.text ?? '')), 0),
  );
  return cells.map((row) => formatLine(row, widths, screen));
}

function formatLine(row: readonly Cell[], widths: readonly number[], screen: Screen): string {
  const end = row.findLastIndex(({ text }) => text !== '');
  let line = '';
  let left = screen.columns ?? Number.POSITIVE_INFINITY;
  for (const [at, { text, tone }] of row.slice(0, end + 1).entries()) {
    const separator = at === 0 ? '' : gap;
    const isLast = at === end;
    const shown = fitTo(text, left - separator.length);
    if (shown === '' && text !== '') break;
    const padded = isLast ? shown : padTo(shown, Math.min(widths[at] ?? 0, left - separator.length));
    line += separator + paint(shown, tone, screen) + padded.slice(shown.length);
    left -= separator.length + (isLast ? 0 : (widths[at] ?? 0));
  }
  return line.trimEnd();
}
