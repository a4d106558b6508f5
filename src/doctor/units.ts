// Amounts as people read them. Pure.

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** 1.5 GiB */
export function bytesText(bytes: bigint): string {
  let value = Number(bytes);
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value >= 100 || unit === 0 ? Math.round(value) : Number(value.toFixed(1))} ${units[unit]}`;
}

const dayMs = 24 * 60 * 60 * 1000;

export function daysBetween(fromMs: number, toMs: number): number {
  return Math.floor((toMs - fromMs) / dayMs);
}

/** 2 days, 3 h, 4 min, 5.2 s */
export function spanText(ms: number): string {
  const absolute = Math.abs(ms);
  if (absolute >= 2 * dayMs) return `${Math.floor(absolute / dayMs)} days`;
  if (absolute >= 2 * 3_600_000) return `${Math.floor(absolute / 3_600_000)} h`;
  if (absolute >= 120_000) return `${Math.floor(absolute / 60_000)} min`;
  return `${Number((absolute / 1000).toFixed(1))} s`;
}

/** 2026-01-31; "an unknown date" for an invalid time. */
export function dateText(ms: number): string {
  return Number.isNaN(new Date(ms).getTime()) ? 'an unknown date' : new Date(ms).toISOString().slice(0, 10);
}
