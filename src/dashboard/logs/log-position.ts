// Where a reader of a container's log is, in terms that survive a restart of the kubelet and a rotation of the log: a time and the
// number of lines since then. Upstream: none; `kubectl logs --since-time` repeats or loses lines.
// The runtime takes the time of a line before it writes the line, separately for stdout and stderr, so that lines are not quite in
// the order of their times. The position therefore counts from a time that lies at least disorderMs before the newest line.
// Invariants: skipping that many lines from that time on gives the next line; memory does not grow with the log.
import { addMs, type LogLine } from './log-text.ts';

/** A line that is written later than this after a line with a later time may be lost when a viewer reconnects. */
const disorderMs = 1_000;
/** After a larger step of the wall clock, lines may be repeated when a viewer reconnects. */
const setBackMs = 5_000;

export interface SavedPosition {
  /** The container's instance. */
  readonly id: string;
  /** Empty: at the beginning of the log. */
  readonly base: string;
  /** The number of lines with this time or a later one, up to the position. */
  readonly count: number;
  /** The latest time of these lines. */
  readonly latest: string;
}

export class LogPosition {
  readonly id: string;
  #base = '';
  /** An earlier time means that the wall clock was set back. */
  #setBack = '';
  #count = 0;
  #nextBase = '';
  #nextCount = 0;
  #nextBaseCounts = '';
  #latest = '';

  constructor(id: string) {
    this.id = id;
  }

  get latest(): string {
    return this.#latest;
  }

  get saved(): SavedPosition {
    return { id: this.id, base: this.#base, count: this.#count, latest: this.#latest };
  }

  /** Moves past this line. */
  pass({ time }: Pick<LogLine, 'time'>): void {
    if (this.#base === '' || time < this.#setBack) {
      // The first line, or the wall clock was set back.
      this.#begin(time);
      return;
    }
    if (time < this.#base) return;
    this.#count += 1;
    if (time > this.#latest) {
      this.#latest = time;
      if (this.#nextBase === '') {
        this.#nextBase = time;
        this.#nextCount = 0;
        this.#nextBaseCounts = addMs(time, disorderMs);
      } else if (time >= this.#nextBaseCounts) {
        this.#base = this.#nextBase;
        this.#setBack = addMs(this.#base, -setBackMs);
        this.#count = this.#nextCount + 1;
        this.#nextBase = time;
        this.#nextCount = 0;
        this.#nextBaseCounts = addMs(time, disorderMs);
      }
    }
    if (time >= this.#nextBase) this.#nextCount += 1;
  }

  #begin(time: string): void {
    this.#base = time;
    this.#setBack = addMs(time, -setBackMs);
    this.#count = 1;
    this.#latest = time;
    this.#nextBase = '';
    this.#nextCount = 0;
  }
}

/** Drops the lines up to a saved position from a log that was opened shortly before its base. */
export class Replay {
  readonly #saved: SavedPosition;
  #passed = 0;
  /** The line at the base is there; otherwise the log was rotated away or it is another one. */
  #isExact: boolean | undefined;
  #isDone: boolean;

  constructor(saved: SavedPosition) {
    this.#saved = saved;
    this.#isDone = saved.base === '';
  }

  get isDone(): boolean {
    return this.#isDone;
  }

  /** The option sinceTime: just before the base, because a file of the log that begins at the base may not be the first. */
  get since(): string | undefined {
    return this.#saved.base === '' ? undefined : addMs(this.#saved.base, -1);
  }

  /** Whether the line lies before the position; `counts`: whether it also lies after its base. */
  drop({ time }: Pick<LogLine, 'time'>): { readonly drop: boolean; readonly counts: boolean } {
    const { base, count, latest } = this.#saved;
    if (this.#isDone) return { drop: false, counts: true };
    if (time < base) return { drop: true, counts: false };
    this.#isExact ??= time === base;
    this.#passed += 1;
    const drop = this.#isExact ? this.#passed <= count : time <= latest;
    this.#isDone = this.#isExact ? this.#passed >= count : !drop;
    return { drop, counts: true };
  }
}

const maxTextLength = 8 * 1024;
const maxContainers = 32;
const entryPattern =
  /^([a-z0-9-]{1,63})\/([0-9A-Za-z_.-]{0,64})\/([0-9TZ:.-]{0,30})\/(\d{1,15})\/([0-9TZ:.-]{0,30})$/;

/** The id of a server-sent event: it is a header later, so it is plain ASCII. */
export function formatPositions(positions: ReadonlyMap<string, SavedPosition>): string {
  return [...positions]
    .map(([name, { base, count, id, latest }]) => [name, id, base, count, latest].join('/'))
    .join(',');
}

/** Entries that cannot be parsed are ignored: the client may have made them up. */
export function parsePositions(text: string): ReadonlyMap<string, SavedPosition> {
  const positions = new Map<string, SavedPosition>();
  if (text.length > maxTextLength) return positions;
  for (const entry of text.split(',', maxContainers)) {
    const [, name = '', id = '', base = '', count = '0', latest = ''] = entryPattern.exec(entry) ?? [];
    if (name === '' || (base !== '' && Number.isNaN(Date.parse(`${base.slice(0, 23)}Z`)))) continue;
    positions.set(name, { id, base, count: Number(count), latest });
  }
  return positions;
}
