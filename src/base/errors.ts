// The kubelet's error type. Edges translate gRPC codes, HTTP status and errno into KubeletError; features decide by kind and
// reason and never see a foreign code.
// Invariant: describing an error never throws and yields a single line of bounded length.

export type ErrorKind =
  | 'not-found'
  | 'conflict'
  | 'invalid'
  | 'forbidden'
  | 'unavailable'
  | 'timeout'
  | 'internal';

interface KubeletErrorOptions {
  readonly cause?: unknown;
  readonly details?: Record<string, unknown>;
}

export class KubeletError extends Error {
  override readonly name = 'KubeletError';
  readonly kind: ErrorKind;
  /** The reason that the API shows: of a waiting state, an event or a condition. */
  readonly reason: string;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(kind: ErrorKind, reason: string, message: string, options: KubeletErrorOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.kind = kind;
    this.reason = reason;
    this.details = options.details ?? {};
  }
}

const longestDescription = 4096;
/** Limit of one message before whitespace with line breaks is collapsed. */
const longestRead = 4 * longestDescription;
const deepestCause = 16;
const mostErrors = 256;
/** Limit for an object or array that was thrown. */
const mostMembers = 256;
const lineBreak = /[\r\n\u2028\u2029]/;

/** The reason to pass to AbortController.abort(): names what was given up and why. isAbort() recognises it. */
export class Aborted extends Error {
  override readonly name = 'AbortError';
}

export function isKind(err: unknown, kind: ErrorKind): boolean {
  return err instanceof KubeletError && err.kind === kind;
}

/**
 * Whether err is an abort, which is not a failure. A timeout is a failure, and so is an error that only has an abort among
 * its causes: a connection that broke because its session was closed did break.
 */
export function isAbort(err: unknown): boolean {
  return err instanceof Error && safely(() => err.name) === 'AbortError';
}

/** Whether an operation with this signal failed because the signal was aborted, wrapped in other errors or not. */
export function isAbortOf(err: unknown, signal: AbortSignal): boolean {
  if (!signal.aborted) return false;
  let current = err;
  for (let depth = 0; depth < deepestCause; depth++) {
    if (current === signal.reason || isAbort(current)) return true;
    const cause = causeOf(current);
    if (cause === undefined) return false;
    current = cause;
  }
  return false;
}

/** The messages of err and its causes as one line, "outer: inner: innermost", without repetitions. */
export function describeError(err: unknown): string {
  return describeChain(err, deepestCause, { errors: mostErrors });
}

/** Bounds how many errors a description visits: nested AggregateErrors would multiply otherwise. */
interface Budget {
  errors: number;
}

function describeChain(err: unknown, depth: number, left: Budget): string {
  const parts: string[] = [];
  const seen = new Set<unknown>();
  let current = err;
  while (!seen.has(current) && seen.size < depth && left.errors > 0) {
    seen.add(current);
    left.errors -= 1;
    // Bounded before the comparison with other parts: a message may hold megabytes of a container's output.
    addPart(parts, shortLine(ownText(current, depth, left)));
    const cause = causeOf(current);
    if (cause === undefined) break;
    current = cause;
  }
  return parts.length === 0 ? '…' : bounded(parts.join(': '), longestDescription);
}

function addPart(parts: string[], text: string): void {
  const last = parts.at(-1);
  if (last === undefined) {
    parts.push(text);
    return;
  }
  // Wrapping commonly repeats the inner message in the outer one; some libraries do the reverse.
  if (text === '' || parts.some((part) => part.includes(text))) return;
  if (text.includes(last)) parts[parts.length - 1] = text;
  else parts.push(text);
}

function ownText(err: unknown, depth: number, left: Budget): string {
  if (err instanceof AggregateError) {
    const inner = safely(() => err.errors.slice(0, 8).map((each) => describeChain(each, depth - 1, left)));
    if (inner !== undefined && inner.length > 0) {
      const list = `[${[...new Set(inner)].join(', ')}]`;
      const message = messageOf(err);
      return message === '' ? list : `${bounded(message, longestRead)}: ${list}`;
    }
  }
  if (err instanceof Error) return messageOf(err) || (safely(() => err.name) ?? '');
  if (typeof err === 'object' && err !== null) return describeObject(err);
  return safely(() => String(err)) ?? typeof err;
}

function messageOf(err: Error): string {
  return safely(() => err.message) ?? 'error without a readable message';
}

function describeObject(value: object): string {
  const message = safely(() => (value as { message?: unknown }).message);
  if (typeof message === 'string' && message !== '') return message;
  return safely(() => shortJson(value)) ?? Object.prototype.toString.call(value);
}

/** JSON of bounded length; the excess is omitted. */
function shortJson(value: object): string {
  if (ArrayBuffer.isView(value)) return `<${value.byteLength} bytes>`;
  let left = longestDescription;
  return JSON.stringify(value, (key, member: unknown) => {
    left -= key.length + 1;
    if (left <= 0) return undefined;
    if (typeof member === 'string') {
      left -= member.length;
      return bounded(member, longestDescription);
    }
    if (typeof member !== 'object' || member === null) return member;
    return Array.isArray(member) ? member.slice(0, mostMembers) : firstMembers(member);
  });
}

function firstMembers(value: object): object {
  const keys = Object.keys(value);
  if (keys.length <= mostMembers) return value;
  return Object.fromEntries(keys.slice(0, mostMembers).map((key) => [key, Reflect.get(value, key)]));
}

function causeOf(err: unknown): unknown {
  if (!(err instanceof Error)) return undefined;
  return safely(() => err.cause ?? undefined);
}

/** One line of at most longestDescription. Truncated before the search, which takes one pass. */
function shortLine(text: string): string {
  const line = bounded(text, longestRead).replace(/\s+/g, (blanks) =>
    lineBreak.test(blanks) ? ' ' : blanks,
  );
  return bounded(line.trim(), longestDescription);
}

function bounded(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit - 1)}…`;
}

/** Getters and toString of foreign errors may throw; a description must not. */
function safely<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
