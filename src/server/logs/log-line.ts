// Parses lines of a container's log file, in the CRI's format or in Docker's JSON. Upstream: parseCRILog and parseDockerJSONLog
// in staging/src/k8s.io/cri-client/pkg/logs. Invariants: content stays bytes, so that binary output is preserved; lines in the
// CRI's format cost no allocation.
import { readDockerLine } from './docker-line.ts';
import { TimestampReader } from './timestamp.ts';

const newline = 0x0a;
const space = 0x20;
const colon = 0x3a;
const brace = 0x7b;
const letterP = 0x50;
const stdoutText = 'stdout ';
const stderrText = 'stderr ';
/** Go's zero time, for JSON lines without a time. */
const yearOneSeconds = -62_135_596_800;

type LogStream = 'stdout' | 'stderr';

/** The maximum length of a line's time, stream and tag. */
export const maxHeaderBytes = 128;

/** Parses one line after the other; its fields describe the last valid one. */
export class LineReader {
  readonly time = new TimestampReader();
  stream: LogStream = 'stdout';
  /** The container's output: [from, to) of content, with the newline unless the line is partial. */
  content: Buffer = Buffer.alloc(0);
  from = 0;
  to = 0;
  /** Whether the line continues in the next entry. */
  partial = false;
  /** The position of the time in the input; empty for JSON. */
  timeFrom = 0;
  timeTo = 0;

  /** Whether [from, to), including its newline, is a valid line. */
  read(bytes: Buffer, from: number, to: number): boolean {
    return bytes[from] === brace ? this.#readJson(bytes, from, to) : this.#readCri(bytes, from, to);
  }

  /** 2016-10-06T00:17:09.669794202Z stdout F some output */
  #readCri(bytes: Buffer, from: number, to: number): boolean {
    const contentAt = this.readHeader(bytes, from, to);
    if (contentAt < 0) return false;
    this.content = bytes;
    this.from = contentAt;
    this.to = this.partial && bytes[to - 1] === newline ? to - 1 : to;
    return true;
  }

  /** Parses time, stream and tag. Returns where the content begins; -1 if the line is not in the CRI's format. */
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

  /** {"log":"some output\n","stream":"stdout","time":"2016-10-20T18:39:20.57606443Z"} */
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

/** Whether the entry completes a line, is continued by the next entry, or is not valid. */
export type LineKind = 'complete' | 'partial' | 'none';

/** `head`: the first maxHeaderBytes of the entry, or all of it. */
export function lineKind(reader: LineReader, head: Buffer): LineKind {
  // Docker splits long lines too, but marks it at the end of the text; such a piece counts as a line, as upstream.
  if (head[0] === brace) return 'complete';
  const contentAt = reader.readHeader(head, 0, head.length);
  if (contentAt < 0) return 'none';
  if (!reader.partial) return 'complete';
  // An empty piece does not start a line.
  return head[contentAt] === newline ? 'none' : 'partial';
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
