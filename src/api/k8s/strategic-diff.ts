// Computes the strategic merge patch between two states of an API object. Pure.
// Upstream: apimachinery/pkg/util/strategicpatch (CreateTwoWayMergePatch).
// Invariants: equal fields are not in the patch, so that concurrent writes of others survive; an element of a list with a merge
// key is identified by that key, never by its index.
import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../base/guards.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

/** The merge key by path of the list ("status.conditions"). Other lists are replaced as a whole. */
type MergeKeys = Readonly<Record<string, string>>;

/** Undefined if nothing differs. */
export function strategicDiff(before: object, after: object, keys: MergeKeys): JsonObject | undefined {
  const patch = diffObjects(before as JsonObject, after as JsonObject, keys, '');
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function diffObjects(before: JsonObject, after: JsonObject, keys: MergeKeys, path: string): JsonObject {
  const patch: Record<string, unknown> = {};
  for (const [name, wanted] of Object.entries(after)) {
    if (wanted === undefined) continue;
    Object.assign(patch, diffField(name, before[name], wanted, keys, path === '' ? name : `${path}.${name}`));
  }
  for (const [name, had] of Object.entries(before)) {
    if (had !== undefined && had !== null && after[name] === undefined) patch[name] = null;
  }
  return patch;
}

function diffField(name: string, had: unknown, wanted: unknown, keys: MergeKeys, path: string): JsonObject {
  if (isEquivalent(had, wanted)) return {};
  const key = keys[path];
  if (key !== undefined && isObjectList(had) && isObjectList(wanted))
    return diffList(name, had, wanted, key, keys, path);
  if (isObject(had) && isObject(wanted)) {
    const inner = diffObjects(had, wanted, keys, path);
    return Object.keys(inner).length === 0 ? {} : { [name]: inner };
  }
  return { [name]: wanted };
}

/** The server may send an unset time as null or omit it, also deep in a list that is replaced as a whole. */
function isEquivalent(had: unknown, wanted: unknown): boolean {
  if (isDeepStrictEqual(had, wanted) || (wanted === null && had === undefined)) return true;
  if (Array.isArray(had) && Array.isArray(wanted)) {
    return had.length === wanted.length && had.every((each, at) => isEquivalent(each, wanted[at]));
  }
  if (!isObject(had) || !isObject(wanted)) return false;
  const names = new Set([...Object.keys(had), ...Object.keys(wanted)]);
  return [...names].every((name) => isEquivalent(had[name] ?? undefined, wanted[name] ?? undefined));
}

function diffList(
  name: string,
  had: readonly JsonObject[],
  wanted: readonly JsonObject[],
  key: string,
  keys: MergeKeys,
  path: string,
): JsonObject {
  const knownByKey = new Map(had.toReversed().map((each) => [each[key], each]));
  const wantedKeys = new Set(wanted.map((each) => each[key]));
  const changed = wanted.flatMap((element) => {
    const known = knownByKey.get(element[key]);
    if (known === undefined) return [element];
    const inner = diffObjects(known, element, keys, path);
    return Object.keys(inner).length === 0 ? [] : [{ ...inner, [key]: element[key] }];
  });
  const gone = had.filter((each) => !wantedKeys.has(each[key]));
  const elements = [...changed, ...gone.map((each) => ({ $patch: 'delete', [key]: each[key] }))];
  const order = wanted.map((element) => ({ [key]: element[key] }));
  const sameOrder = had.length === wanted.length && had.every((each, at) => each[key] === wanted[at]?.[key]);
  if (elements.length === 0 && sameOrder) return {};
  return { [`$setElementOrder/${name}`]: order, ...(elements.length === 0 ? {} : { [name]: elements }) };
}

function isObjectList(value: unknown): value is readonly JsonObject[] {
  return Array.isArray(value) && value.every(isObject);
}
