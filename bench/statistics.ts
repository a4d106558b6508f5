// Percentiles and text tables. Pure.

/** The smallest sample that `share` of the samples do not exceed; the maximum for the p99 of few samples. */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

export const median = (samples: readonly number[]): number => percentile(samples, 0.5);

/** Columns as wide as their widest cell; the first left-aligned, the others right-aligned. */
export function table(rows: readonly (readonly string[])[]): string {
  const columns = Math.max(...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, i) =>
    Math.max(...rows.map((row) => row[i]?.length ?? 0)),
  );
  const line = (row: readonly string[]): string =>
    widths
      .map((width, i) => (i === 0 ? (row[i] ?? '').padEnd(width) : (row[i] ?? '').padStart(width)))
      .join('  ')
      .trimEnd();
  return rows.map(line).join('\n');
}

export const inMs = (ms: number): string => `${ms.toFixed(0)} ms`;
export const asRatio = (ratio: number): string => ratio.toFixed(2);
