// Prints a checkpoint as Go's spew prints its struct: the checksums of the CPU and memory managers' files cover that text. Pure.
// Upstream: apimachinery/pkg/util/dump (ForHash) over spew. Invariant: types are printed for the fields of structs but not
// inside maps and lists; maps are sorted by key.
import { goJsonString } from '../../api/k8s/go-json.ts';
import { fnv1a32 } from '../../api/pod/fnv.ts';
import { KubeletError } from '../../base/errors.ts';
import { isObject } from '../../base/guards.ts';
import { corruptCheckpoint } from './checkpoint-file.ts';

/** `keys`: of Go's map. Names that look like numbers are sorted as text. */
export function printMap<V>(
  map: Readonly<Record<string, V>>,
  print: (value: V) => string,
  keys: 'text' | 'numbers' = 'numbers',
): string {
  const compare = keys === 'text' ? compareText : compareKeys;
  const entries = Object.entries(map).toSorted(([a], [b]) => compare(a, b));
  return `map[${entries.map(([key, value]) => `${key}:${print(value)}`).join(' ')}]`;
}

/** Compares numbers numerically and other keys as text. */
function compareKeys(a: string, b: string): number {
  if (/^\d+$/.test(a) && /^\d+$/.test(b)) return Number(a) - Number(b);
  return compareText(a, b);
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : 1;
}

export function printList<V>(list: readonly V[], print: (value: V) => string): string {
  return `[${list.map(print).join(' ')}]`;
}

export function printedChecksum(text: string): number {
  return fnv1a32(text);
}

/** The last fields of a file of v1.37: the state once more as text, with a checksum of its own. */
export function encodeData(data: string): string {
  return `"data":${goJsonString(data)},"dataChecksum":${dataChecksum(data)}`;
}

/**
 * The state that a file of v1.37 holds as text; undefined for a file of an earlier release. Throws `invalid` if it does not
 * match its checksum: the rest of the file, which earlier releases read, is not trusted then either.
 */
export function decodeData(
  fields: Readonly<Record<string, unknown>>,
  version: string,
): Readonly<Record<string, unknown>> | undefined {
  const { data = '', dataChecksum: checksum = 0 } = fields;
  if (data === '' && checksum === 0) return undefined;
  if (typeof data !== 'string' || checksum !== dataChecksum(data))
    throw new KubeletError(
      'invalid',
      'CorruptCheckpoint',
      `could not load ${version} checkpoint: ${corruptCheckpoint}`,
    );
  return parseObject(data);
}

function dataChecksum(data: string): number {
  return printedChecksum(`(string)${data}`);
}

export function parseObject(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new KubeletError('invalid', 'CorruptCheckpoint', 'it is not JSON', { cause });
  }
  if (isObject(value)) return value;
  throw new KubeletError('invalid', 'CorruptCheckpoint', 'it is not a JSON object');
}
