// Ages, times, bytes and CPU as kubectl prints them. Pure.
// Upstream: apimachinery/pkg/util/duration (HumanDuration), pkg/cmd/top of kubectl.

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

/** As 45s, 3m20s, 25m, 4h10m, 30h, 3d4h, 40d, 2y30d, 9y. */
export function ageText(ms: number): string {
  const whole = (unit: number): number => Math.floor(ms / unit);
  const pair = (unit: number, name: string, part: number, partName: string): string => {
    const rest = Math.floor((ms % unit) / part);
    return `${whole(unit)}${name}${rest === 0 ? '' : `${rest}${partName}`}`;
  };
  if (ms < second) return '0s';
  if (ms < 2 * minute) return `${whole(second)}s`;
  if (ms < 10 * minute) return pair(minute, 'm', second, 's');
  if (ms < 3 * hour) return `${whole(minute)}m`;
  if (ms < 8 * hour) return pair(hour, 'h', minute, 'm');
  if (ms < 2 * day) return `${whole(hour)}h`;
  if (ms < 8 * day) return pair(day, 'd', hour, 'h');
  if (ms < 2 * year) return `${whole(day)}d`;
  return ms < 8 * year ? pair(year, 'y', day, 'd') : `${whole(year)}y`;
}

/** How long ago; empty if unknown. Clocks may differ, so the future is now. */
export function sinceText(sinceMs: number | undefined, nowMs: number): string {
  return sinceMs === undefined ? '' : ageText(Math.max(0, nowMs - sinceMs));
}

/** In UTC, to the second: 2026-01-31T12:00:00Z. */
export function timeText(ms: number): string {
  // The range of Date.
  return Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString().replace(/\.\d{3}Z$/, 'Z') : '?';
}

/** Undefined for a text that is no time. */
export function parseTime(text: string | undefined): number | undefined {
  const ms = Date.parse(text ?? '');
  return Number.isNaN(ms) ? undefined : ms;
}

/** A short time: 12 ms, 1.25 s, 3m20s. */
export function spanText(ms: number): string {
  if (ms < second) return `${Math.max(0, Math.round(ms))} ms`;
  return ms < minute ? `${(ms / second).toFixed(ms < 10 * second ? 2 : 1)} s` : ageText(ms);
}

const mebibyte = 1024 * 1024;

export function bytesText(bytes: number): string {
  if (bytes >= 10 * 1024 * mebibyte) return `${(bytes / 1024 / mebibyte).toFixed(1)}Gi`;
  return bytes >= mebibyte ? `${Math.round(bytes / mebibyte)}Mi` : `${Math.ceil(bytes / 1024)}Ki`;
}

export function cpuText(millis: number): string {
  return `${Math.round(millis)}m`;
}
