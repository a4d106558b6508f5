// Numbers and times as the page shows them: three significant digits at most, the units of kubectl, ages as kubectl writes them.

const byteUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  let unit = 0;
  let size = Math.abs(value);
  while (size >= 1000 && unit < byteUnits.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${value < 0 ? '-' : ''}${unit === 0 ? size : digits(size)} ${byteUnits[unit]}`;
}

/** Thousandths of a core, as `kubectl top` writes them. */
export function cpuMillis(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  return `${value < 10 && value > 0 ? Math.max(0.1, Math.round(value * 10) / 10) : Math.round(value)}m`;
}

export function cores(millis: number | null | undefined): string {
  if (millis === null || millis === undefined || !Number.isFinite(millis)) return '–';
  return digits(millis / 1000);
}

export function count(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

export function percent(part: number, whole: number): string {
  if (whole <= 0) return '–';
  const value = (100 * part) / whole;
  return `${value > 0 && value < 10 ? value.toFixed(1) : Math.round(value)} %`;
}

function digits(value: number): string {
  return value >= 100 ? String(Math.round(value)) : value.toFixed(value >= 10 ? 1 : 2);
}

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

/** As the AGE column of kubectl: two units where the second still matters. */
export function age(ms: number | undefined): string {
  if (ms === undefined || !Number.isFinite(ms)) return '–';
  const past = Math.max(0, ms);
  if (past < 2 * minute) return `${Math.floor(past / second)}s`;
  if (past < 10 * minute) return pair(past, minute, 'm', second, 's');
  if (past < 3 * hour) return `${Math.floor(past / minute)}m`;
  if (past < 8 * hour) return pair(past, hour, 'h', minute, 'm');
  if (past < 2 * day) return `${Math.floor(past / hour)}h`;
  if (past < 8 * day) return pair(past, day, 'd', hour, 'h');
  if (past < 2 * year) return `${Math.floor(past / day)}d`;
  if (past < 8 * year) return pair(past, year, 'y', day, 'd');
  return `${Math.floor(past / year)}y`;
}

function pair(past: number, unit: number, name: string, below: number, nameBelow: string): string {
  const rest = Math.floor((past % unit) / below);
  return `${Math.floor(past / unit)}${name}${rest === 0 ? '' : `${rest}${nameBelow}`}`;
}

/** How long something took. */
export function duration(ms: number): string {
  const took = Math.max(0, ms);
  if (took < 1) return '<1 ms';
  if (took < second) return `${Math.round(took)} ms`;
  if (took < minute) return `${(took / second).toFixed(took < 10 * second ? 2 : 1)} s`;
  if (took < hour) return `${Math.floor(took / minute)} min ${Math.floor((took % minute) / second)} s`;
  return `${Math.floor(took / hour)} h ${Math.floor((took % hour) / minute)} min`;
}

/** The wall-clock time in the viewer's zone, with the date unless it is the day of `nowMs`. */
export function timeOfDay(atMs: number, nowMs: number): string {
  const at = new Date(atMs);
  if (Number.isNaN(at.getTime())) return '–';
  const two = (value: number) => String(value).padStart(2, '0');
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  if (at.toDateString() === new Date(nowMs).toDateString()) return time;
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`;
}

/** For tooltips: unambiguous in every zone. */
export function isoTime(atMs: number | undefined): string {
  if (atMs === undefined) return '';
  const at = new Date(atMs);
  return Number.isNaN(at.getTime()) ? '' : at.toISOString();
}

export function plural(number: number, one: string, many = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : many}`;
}
