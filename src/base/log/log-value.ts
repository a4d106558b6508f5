// Formats any value for the log: Go-quoted strings for the text format, JSON for objects and for the JSON format.
// Invariants: never throws, whatever getters, toJSON or cycles a value has; the JSON is always valid; the length is bounded.
import { describeError } from '../errors.ts';
import { Secret } from './secret.ts';

const longestString = 8192;
const longestObject = 16_384;
const deepestObject = 10;

const goEscapes: Readonly<Record<string, string>> = {
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
};

const plainText = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;
const needsEscape = /["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu;

/** As Go's %q prints a string. */
export function goQuote(text: string): string {
  if (plainText.test(text)) return `"${text}"`;
  return `"${text.replace(needsEscape, escapeRune)}"`;
}

function escapeRune(rune: string): string {
  const short = goEscapes[rune];
  if (short !== undefined) return short;
  const code = rune.codePointAt(0) ?? 0xfffd;
  if (code < 0x20 || code === 0x7f) return `\\x${hex(code, 2)}`;
  // A lone surrogate is no character; in Go it would be invalid UTF-8.
  if (code >= 0xd800 && code <= 0xdfff) return '\\ufffd';
  return code < 0x10000 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`;
}

function hex(code: number, width: number): string {
  return code.toString(16).padStart(width, '0');
}

/** Truncates at longestString and appends the number of omitted characters. */
export function boundText(text: string): string {
  if (text.length <= longestString) return text;
  return `${text.slice(0, longestString)}…(${text.length - longestString} more)`;
}

/** The text of a value that is a single string in both formats; undefined for values that are written as JSON. */
export function scalarText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'function') return '<function>';
  if (typeof value === 'symbol') return value.toString();
  if (typeof value !== 'object' || value === null) return undefined;
  try {
    if (value instanceof Secret) return value.toString();
    if (value instanceof Error) return describeError(value);
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
    // differs from upstream: byte arrays are not printed, since they may hold keys.
    if (ArrayBuffer.isView(value)) return `<${value.byteLength} bytes>`;
    return ownText(value);
  } catch (err) {
    return `<panic: ${describeError(err)}>`;
  }
}

/** The result of a toString of its class (URL, Quantity): the counterpart of Go's Stringer. */
function ownText(value: object): string | undefined {
  const toText: unknown = Reflect.get(value, 'toString');
  const inherited: unknown[] = [
    Reflect.get(Object.prototype, 'toString'),
    Reflect.get(Array.prototype, 'toString'),
  ];
  if (typeof toText !== 'function' || inherited.includes(toText)) return undefined;
  const text: unknown = toText.call(value);
  return typeof text === 'string' ? text : undefined;
}

interface JsonState {
  left: number;
  readonly ancestors: object[];
}

/** As JSON.stringify, but never fails, and marks omissions. */
export function safeJson(value: unknown): string {
  return jsonLeaf(value) ?? json(value, { left: longestObject, ancestors: [] });
}

function json(value: unknown, state: JsonState): string {
  const leaf = jsonLeaf(value);
  if (leaf === undefined) return jsonObject(value as object, state);
  state.left -= leaf.length;
  return leaf;
}

function jsonLeaf(value: unknown): string | undefined {
  if (value === null || value === undefined) return 'null';
  if (typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : `"${value}"`;
  const text = scalarText(value);
  return text === undefined ? undefined : JSON.stringify(boundText(text));
}

function jsonObject(value: object, state: JsonState): string {
  if (state.ancestors.includes(value)) return '"<cycle>"';
  // Brackets count too, or nested empty lists would be unbounded.
  state.left -= 2;
  if (state.left <= 0 || state.ancestors.length >= deepestObject) return '"…"';
  state.ancestors.push(value);
  try {
    return jsonMembers(value, state);
  } catch (err) {
    return JSON.stringify(`<panic: ${describeError(err)}>`);
  } finally {
    state.ancestors.pop();
  }
}

function jsonMembers(value: object, state: JsonState): string {
  const toJson: unknown = (value as { toJSON?: unknown }).toJSON;
  if (typeof toJson === 'function') return json(toJson.call(value), state);
  if (Array.isArray(value) || value instanceof Set) return jsonList(value, state);
  if (value instanceof Map) return jsonPairs(value.entries(), state);
  return jsonPairs(ownPairs(value), state);
}

function jsonList(values: Iterable<unknown>, state: JsonState): string {
  const parts: string[] = [];
  for (const value of values) {
    if (state.left <= 0) {
      parts.push('"…"');
      break;
    }
    parts.push(json(value, state));
  }
  return `[${parts.join(',')}]`;
}

function jsonPairs(pairs: Iterable<readonly [unknown, unknown]>, state: JsonState): string {
  const parts: string[] = [];
  for (const [key, value] of pairs) {
    if (value === undefined) continue;
    if (state.left <= 0) {
      parts.push('"…":null');
      break;
    }
    const name = JSON.stringify(boundText(String(key)));
    state.left -= name.length;
    parts.push(`${name}:${json(value, state)}`);
  }
  return `{${parts.join(',')}}`;
}

/** A getter that throws loses only its own value. */
function* ownPairs(value: object): Generator<readonly [string, unknown]> {
  for (const key of Object.keys(value)) {
    let member: unknown;
    try {
      member = (value as Record<string, unknown>)[key];
    } catch (err) {
      member = `<panic: ${describeError(err)}>`;
    }
    yield [key, member];
  }
}
