// Prints a checkpoint as Go's spew prints its struct: the checksums of the CPU and memory managers' files cover that text. Pure.
// Upstream: apimachinery/pkg/util/dump (ForHash) over spew. Invariant: types are printed for the fields of structs but not
// inside maps and lists; maps are sorted by key.
import { fnv1a32 } from '../../api/pod/fnv.ts';
import { KubeletError } from '../../base/errors.ts';
import { isObject } from '../../base/guards.ts';

export function printMap<V>(map: Readonly<Record<string, V>>, print: (value: V) => string): string {
  const entries = Object.entries(map).toSorted(([a], [b]) => compareKeys(a, b));
  return `map[${entries.map(([key, value]) => `${key}:${print(value)}`).join(' ')}]`;
}

/** Compares numbers numerically and other keys as text. */
function compareKeys(a: string, b: string): number {
  if (/^\d+$/.test(a) && /^\d+$/.test(b)) return Number(a) - Number(b);
  return a < b ? -1 : 1;
}

export function printList<V>(list: readonly V[], print: (value: V) => string): string {
  return `[${list.map(print).join(' ')}]`;
}

export function printedChecksum(text: string): number {
  return fnv1a32(text);
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
