// Resolves plain YAML scalars as Go's YAML parser does: booleans and octal numbers of YAML 1.1, but no sexagesimal numbers,
// and dates stay strings.
// Upstream: go.yaml.in/yaml/v2 (resolve).
import type { ScalarValue } from './manifest-node.ts';

const words: ReadonlyMap<string, ScalarValue> = new Map<string, ScalarValue>([
  ...spellings(['y', 'yes', 'true', 'on'], true),
  ...spellings(['n', 'no', 'false', 'off'], false),
  ...spellings(['null'], null),
  ['', null],
  ['~', null],
  ...spellings(['.inf', '+.inf'], Number.POSITIVE_INFINITY),
  ...spellings(['-.inf'], Number.NEGATIVE_INFINITY),
  ['.nan', Number.NaN],
  ['.NaN', Number.NaN],
  ['.NAN', Number.NaN],
]);

const integer = /^[-+]?(0[xX][0-9a-fA-F]+|0[oO]?[0-7]+|0[bB][01]+|0|[1-9][0-9]*)$/;
const float = /^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/;

const minInt64 = -(2n ** 63n);
const maxUint64 = 2n ** 64n - 1n;

/** The value of an unquoted scalar without a tag. */
export function resolvePlain(text: string): ScalarValue {
  const word = words.get(text);
  if (word !== undefined) return word;
  if (!/^[-+.0-9]/.test(text)) return text;
  const digits = text.replaceAll('_', '');
  if (!text.startsWith('.') && integer.test(digits)) {
    const value = parseInteger(digits);
    if (value >= minInt64 && value <= maxUint64) return narrow(value);
  }
  if (!float.test(digits) || (text.startsWith('.') && text.includes('_'))) return text;
  const value = Number(digits);
  // A number beyond the range of a double stays a string.
  return Number.isFinite(value) ? value : text;
}

const tagPrefix = 'tag:yaml.org,2002:';

/** The value of a scalar with a tag in long form. Throws a TypeError if it does not have that type. */
export function resolveTagged(text: string, tag: string): ScalarValue {
  const name = tag.startsWith(tagPrefix) ? tag.slice(tagPrefix.length) : '';
  const value = resolvePlain(text);
  switch (name) {
    case 'binary':
      return decodeBase64(text);
    case 'int':
      return must(integer.test(text.replaceAll('_', '')), value, text, 'int');
    case 'float':
      return must(typeof value === 'number' || typeof value === 'bigint', value, text, 'float');
    case 'bool':
      return must(typeof value === 'boolean', value, text, 'bool');
    case 'null':
      return must(value === null, value, text, 'null');
    default:
      // Other tags, such as those of applications, keep the string.
      return text;
  }
}

function must(holds: boolean, value: ScalarValue, text: string, type: string): ScalarValue {
  if (!holds) throw new TypeError(`"${text}" is not of type !!${type}`);
  return value;
}

function decodeBase64(text: string): string {
  const compact = text.replaceAll(/[\r\n]/g, '');
  if (!/^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(compact))
    throw new TypeError('!!binary value is not base64');
  return Buffer.from(compact, 'base64').toString('utf8');
}

/** A number if it is exact, otherwise the bigint. */
export function narrow(value: bigint): number | bigint {
  const small = Number(value);
  return Number.isSafeInteger(small) ? small : value;
}

function parseInteger(text: string): bigint {
  const negative = text.startsWith('-');
  const digits = text.replace(/^[-+]/, '').toLowerCase();
  // A leading zero alone means octal, as in file modes.
  const octal = /^0[0-7]+$/.test(digits);
  const value = BigInt(octal ? `0o${digits.slice(1)}` : digits);
  return negative ? -value : value;
}

function spellings(lower: readonly string[], value: ScalarValue): [string, ScalarValue][] {
  return lower.flatMap((word) =>
    [word, capitalised(word), word.toUpperCase()].map((spelling): [string, ScalarValue] => [spelling, value]),
  );
}

function capitalised(word: string): string {
  const at = word.search(/[a-z]/);
  return word.slice(0, at) + word.charAt(at).toUpperCase() + word.slice(at + 1);
}
