// The record of one end, and its line on disk. Pure. Upstream has no counterpart.
// Invariants: a line has at most 32 KiB, whatever a container printed; it begins with the record's ID, so that IDs are read without
// parsing the whole line.

export type EndKind =
  | 'exit' // a container ended
  | 'oom' // a container ended because the kernel killed it for lack of memory
  | 'evicted'
  | 'preempted'
  | 'deadline'
  | 'shutdown'
  | 'killed' // the kubelet terminated the pod for another reason
  | 'rejected';

export type Figures = Readonly<Record<string, string | number>>;

export interface TimelineEntry {
  readonly time: string;
  readonly what: string;
}

export interface EndRecord {
  readonly id: string;
  readonly time: string;
  readonly kind: EndKind;
  readonly namespace: string;
  readonly pod: string;
  readonly uid: string;
  readonly container?: string;
  readonly containerId?: string;
  /** One sentence. */
  readonly cause: string;
  /** The rule that fired, such as an eviction threshold. */
  readonly rule?: string;
  readonly figures: Figures;
  readonly exitCode?: number;
  readonly signal?: string;
  readonly reason: string;
  readonly message: string;
  readonly startedAt?: string;
  readonly finishedAt?: string;
  readonly timeline: readonly TimelineEntry[];
  readonly lastLines?: readonly string[];
}

export const maxLineBytes = 32 * 1024;
/** Of a message, a cause, a log line. */
const maxTextBytes = 1024;
const maxFigures = 40;
const maxFigureBytes = 256;

const encoder = new TextEncoder();

/** At most this many bytes of UTF-8, ending with an ellipsis if it was longer. */
export function truncateText(text: string, bytes: number = maxTextBytes): string {
  if (text.length * 3 <= bytes) return text;
  const room = new Uint8Array(bytes);
  const { read } = encoder.encodeInto(text, room);
  if (read === text.length) return text;
  const { read: shorter } = encoder.encodeInto(text, room.subarray(0, bytes - 3));
  return `${text.slice(0, shorter)}…`;
}

export function boundFigures(figures: Figures): Figures {
  const entries = Object.entries(figures).slice(0, maxFigures);
  return Object.fromEntries(
    entries.map(([name, value]) => [
      truncateText(name, maxFigureBytes),
      typeof value === 'string' ? truncateText(value, maxFigureBytes) : value,
    ]),
  );
}

/** The line of a record, without its line end. Escaped control characters may not fit: log lines and details are dropped. */
export function recordLine(record: EndRecord): string {
  const { id, ...rest } = record;
  let lines = record.lastLines ?? [];
  for (;;) {
    const text = JSON.stringify({ id, ...rest, ...(record.lastLines && { lastLines: lines }) });
    if (encoder.encode(text).length <= maxLineBytes) return text;
    // The newest lines say most about the end.
    if (lines.length > 0) lines = lines.slice(Math.ceil(lines.length / 4));
    else break;
  }
  const bare = { ...rest, cause: '', message: '', figures: {}, timeline: [], lastLines: [] };
  return JSON.stringify({ id, ...bare });
}

const idPrefix = Buffer.from('{"id":"');
const quote = 0x22;
const maxIdBytes = 1024;
const maxIdPartLength = 253;

/** The ID of a line; undefined if the line is torn within it. */
export function lineId(line: Buffer): string | undefined {
  if (!line.subarray(0, idPrefix.length).equals(idPrefix)) return undefined;
  const end = line.indexOf(quote, idPrefix.length);
  // The last character distinguishes a complete line from one that was cut off when the kubelet was killed.
  const isComplete = line.at(-1) === 0x7d;
  if (end < 0 || end > maxIdBytes || !isComplete) return undefined;
  return line.toString('utf8', idPrefix.length, end);
}

export function containerEndId(containerId: string): string {
  return `c/${idPart(containerId)}`;
}

export function podEndId(uid: string, kind: EndKind, distinction: string): string {
  return `p/${idPart(uid)}/${kind}/${idPart(distinction)}`;
}

/** Without characters that JSON escapes: a manifest may contain any UID. */
function idPart(text: string): string {
  return text.slice(0, maxIdPartLength).replace(/[^\w.-]/g, '_');
}
