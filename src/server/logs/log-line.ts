// One line of a container's log file, in the CRI's format or in Docker's JSON. Upstream: parseCRILog and parseDockerJSONLog in
// staging/src/k8s.io/cri-client/pkg/logs. Invariants: bytes stay bytes, so that binary output survives; nothing is allocated per
// line of the CRI's format.
import { readDockerLine } from './docker-line.ts';
import { TimestampReader } from './timestamp.ts';

const newline = 0x0a;
const space = 0x20;
const colon = 0x3a;
const brace = 0x7b;
const letterP = 0x50;
const stdoutText = 'stdout ';
const stderrText = 'stderr ';
/** Go's zero time, which a JSON line without a time has. */
const yearOneSeconds = -62_135_596_800;

type LogStream = 'stdout' | 'stderr';

/** The most bytes that have to be seen to know a line's time, stream and tag. */
export const longestHeaderBytes = 128;

/** Reads one line after the other; its fields are those of the last one that was a line. */
export class LineReader {
  readonly time = new TimestampReader();
  stream: LogStream = 'stdout';
  /** What the container wrote: [from, to) of content, with the line end unless the line goes on in the next one. */
  content: Buffer = Buffer.alloc(0);
  from = 0;
  to = 0;
  /** Whether the line goes on in the next one. */
  partial = false;
  /** Where the time is in the bytes that were read; empty for JSON. */
  timeFrom = 0;
  timeTo = 0;

  /** Whether [from, to), with its line end, is a line of a log. */
  read(bytes: Buffer, from: number, to: number): boolean {
    return bytes[from] === brace ? this.#readJson(bytes, from, to) : this.#readCri(bytes, from, to);
  }

  /** 2016-10-06T00:17:09.669794202Z stdout F what it wrote */
  #readCri(bytes: Buffer, from: number, to: number): boolean {
    const contentAt = this.readHeader(bytes, from, to);
    if (contentAt < 0) return false;
    this.content = bytes;
    this.from = contentAt;
    this.to = this.partial && bytes[to - 1] === newline ? to - 1 : to;
    return true;
  }

  /** Time, stream and tag. Where the text begins; -1 when this is no line in the CRI's format. */
  readHeader(bytes: Buffer, from: number, to: number): number {
    const timeEnd = indexOfSpace(bytes, from, to);
    if (timeEnd < 0 || !this.time.read(bytes, from, timeEnd)) return -1;
    const streamAt = timeEnd + 1;
    if (startsWith(bytes, streamAt, to, stdoutText)) this.stream = 'stdout';
    else if (startsWith(bytes, streamAt, to, stderrText)) this.stream = 'stderr';
    else return -1;
    const tagAt = streamAt + stdoutText.length;
    const tagEnd = indexOfSpace(bytes, tagAt, to);
    if (tagEnd < 0) return -1;
    const afterP = bytes[tagAt + 1];
    this.partial = bytes[tagAt] === letterP && (afterP === space || afterP === colon);
    this.timeFrom = from;
    this.timeTo = timeEnd;
    return tagEnd + 1;
  }

  /** {"log":"what it wrote\n","stream":"stdout","time":"2016-10-20T18:39:20.57606443Z"} */
  #readJson(bytes: Buffer, from: number, to: number): boolean {
    const line = readDockerLine(bytes, from, to);
    if (line === undefined) return false;
    const { log, stream, time } = line;
    if (stream !== 'stdout' && stream !== 'stderr') return false;
    if (time === undefined) {
      this.time.seconds = yearOneSeconds;
      this.time.nanos = 0;
      this.time.offsetMinutes = 0;
    } else {
      const text = Buffer.from(time);
      if (!this.time.read(text, 0, text.length)) return false;
    }
    this.stream = stream;
    this.content = Buffer.from(log);
    this.from = 0;
    this.to = this.content.length;
    this.partial = false;
    this.timeFrom = 0;
    this.timeTo = 0;
    return true;
  }
}

/** What the beginning of a line tells of it: whether what follows begins on a line of its own. */
export type LineKind = 'ends' | 'goes on' | 'none';

/** `head`: the first bytes of a line, longestHeaderBytes of them or all. */
export function lineKind(reader: LineReader, head: Buffer): LineKind {
  // Docker cuts long lines too, but tells it at the end of the text; such a piece counts as a line, as it does upstream.
  if (head[0] === brace) return 'ends';
  const contentAt = reader.readHeader(head, 0, head.length);
  if (contentAt < 0) return 'none';
  if (!reader.partial) return 'ends';
  // A piece of nothing begins no line.
  return head[contentAt] === newline ? 'none' : 'goes on';
}

function indexOfSpace(bytes: Uint8Array, from: number, to: number): number {
  for (let at = from; at < to; at++) if (bytes[at] === space) return at;
  return -1;
}

function startsWith(bytes: Uint8Array, from: number, to: number, text: string): boolean {
  if (to - from < text.length) return false;
  for (let at = 0; at < text.length; at++) if (bytes[from + at] !== text.charCodeAt(at)) return false;
  return true;
}
