// The regular expression of a search: compiled, and matched against lines. It runs in a worker, since the viewer may write an
// expression that backtracks for hours. Pure.

/** Where a line matches: begin, end, begin, end, … */
export type Ranges = readonly number[];

const maxRangesPerLine = 50;

/** The message for the viewer if the expression is not valid. Upper case letters make it case-sensitive. */
export function compile(pattern: string): { readonly expression: RegExp } | { readonly problem: string } {
  try {
    // Letters after a backslash are classes.
    const letters = pattern.replace(/\\./g, '');
    return { expression: new RegExp(pattern, letters === letters.toLowerCase() ? 'giu' : 'gu') };
  } catch (err) {
    return { problem: err instanceof Error ? err.message : String(err) };
  }
}

/** Undefined if the text does not match. */
export function match(expression: RegExp, text: string): Ranges | undefined {
  const ranges: number[] = [];
  expression.lastIndex = 0;
  for (let found = expression.exec(text); found !== null; found = expression.exec(text)) {
    const [{ length }] = found;
    ranges.push(found.index, found.index + length);
    if (ranges.length >= 2 * maxRangesPerLine) break;
    // An empty match does not move by itself.
    if (length === 0) expression.lastIndex += 1;
  }
  return ranges.length === 0 ? undefined : ranges;
}
