// Parses environment files, which a pod's containers write for each other: NAME='value', one assignment per line. Pure.
// Upstream: pkg/kubelet/util/env. Invariants: linear time, on bytes; values never appear in a fault; a fault concerns only the
// keys that were not found before it.

export interface EnvFile {
  /** The first value of each wanted key that is in the file. */
  readonly values: ReadonlyMap<string, Uint8Array>;
  /** The syntax error that ended the parsing, without content of the file. */
  readonly fault: string | undefined;
}

/** Upstream's limit: the longest line that its scanner accepts. */
const maxLineBytes = 64 * 1024 - 1;
const [tab, newline, carriageReturn, blank, hash, quote, equalsSign] = [9, 10, 13, 32, 35, 39, 61] as const;

export function parseEnvFile(data: Uint8Array, keys: Iterable<string>): EnvFile {
  const values = new Map<string, Uint8Array>();
  const wanted = new Set(keys);
  const lengths = new Set([...wanted].map((key) => Buffer.byteLength(key)));
  const endAt = endOfShortLines(data);
  let at = 0;
  const fault = (why: string, where = 'at'): EnvFile => {
    const line = countNewlines(data, at) + 1;
    return { values, fault: `invalid environment variable format ${where} line ${line}: ${why}` };
  };
  while (wanted.size > 0) {
    at = skipBlanks(data, at);
    if (at >= endAt) break;
    if (isLineEnd(data, at) || data[at] === hash) {
      at = endOfLine(data, at) + 1;
      continue;
    }
    const equals = endOfName(data, at);
    if (data[equals] !== equalsSign) return fault("missing '='");
    if (equals === at) return fault('empty variable name');
    if (isBlank(data[equals - 1])) return fault("whitespace before '=' is not allowed");
    let [start, closing, end] = [0, 0, equals + 1];
    // As in a shell, `KEY= 'value'` assigns nothing.
    if (!isBlank(data[end])) {
      if (data[end] !== quote) return fault('value must be enclosed in single quotes');
      start = end + 1;
      closing = data.indexOf(quote, start);
      if (closing === -1 || closing >= endAt) return fault('unclosed single quote', 'starting at');
      end = skipBlanks(data, closing + 1);
      if (!isLineEnd(data, end) && data[end] !== hash) {
        at = end;
        return fault('unexpected content after closing quote');
      }
    }
    if (lengths.has(equals - at)) {
      const name = Buffer.from(data.subarray(at, equals)).toString();
      if (wanted.delete(name)) values.set(name, withNewlines(data.subarray(start, closing)));
    }
    at = endOfLine(data, end) + 1;
  }
  return wanted.size > 0 && endAt < data.length
    ? fault('the line is too long')
    : { values, fault: undefined };
}

/** Where the first line that is too long begins. */
function endOfShortLines(data: Uint8Array): number {
  let start = 0;
  for (let at = 0; at < data.length; at++) {
    if (data[at] === newline) start = at + 1;
    else if (at - start >= maxLineBytes) return start;
  }
  return data.length;
}

function endOfName(data: Uint8Array, from: number): number {
  let at = from;
  while (at < data.length && data[at] !== equalsSign && data[at] !== newline) at++;
  return at;
}

function endOfLine(data: Uint8Array, from: number): number {
  let at = from;
  while (at < data.length && data[at] !== newline) at++;
  return at;
}

function skipBlanks(data: Uint8Array, from: number): number {
  let at = from;
  while (isBlank(data[at])) at++;
  return at;
}

function isBlank(byte: number | undefined): boolean {
  return byte === blank || byte === tab;
}

/** `\r` counts only at the end of a line. */
function isLineEnd(data: Uint8Array, at: number): boolean {
  const end = data[at] === carriageReturn ? at + 1 : at;
  return end >= data.length || data[end] === newline;
}

function countNewlines(data: Uint8Array, until: number): number {
  let count = 0;
  for (let at = 0; at < until; at++) if (data[at] === newline) count++;
  return count;
}

/** A copy in which the line ends of other systems are newlines. */
function withNewlines(value: Uint8Array): Uint8Array {
  return value.filter((byte, at) => byte !== carriageReturn || value[at + 1] !== newline);
}
