// The three patch types of the server: RFC 6902, RFC 7396, and the strategic merge, which knows the keys of lists.
// Upstream: apimachinery/pkg/util/{strategicpatch,jsonmergepatch}; the keys are the patchMergeKey tags of k8s.io/api.
import { mergeKeysByKind, mergeKeysOfConfigMap } from '../../../src/api/k8s/generated/merge-keys.ts';
import { ApiError, badRequest } from '../api-error.ts';

type Json = unknown;
type JsonObject = Record<string, unknown>;

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The merge key of a list; '' for a set of plain values; undefined for a list that is replaced. */
function mergeKeyOf(kind: string, path: string): string | undefined {
  // The metadata is the same for all kinds.
  return (mergeKeysByKind[kind] ?? mergeKeysOfConfigMap)[path];
}

export function mergePatch(target: Json, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const result: JsonObject = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = mergePatch(result[name], value);
  }
  return result;
}

export function strategicMergePatch(kind: string, target: JsonObject, patch: Json): JsonObject {
  if (!isObject(patch)) throw badRequest('the patch is not an object');
  return mergeObject(kind, '', target, patch);
}

function mergeObject(kind: string, path: string, target: JsonObject, patch: JsonObject): JsonObject {
  const { $patch: directive, $retainKeys: retain, ...rest } = patch;
  if (directive === 'replace') return stripDirectives(rest);
  if (directive === 'delete') return {};
  const kept = Array.isArray(retain)
    ? Object.fromEntries(Object.entries(target).filter(([name]) => retain.includes(name)))
    : target;
  const result: JsonObject = { ...kept };
  for (const [name, value] of Object.entries(rest)) {
    if (name.startsWith('$')) continue;
    const order = rest[`$setElementOrder/${name}`];
    const below = path === '' ? name : `${path}.${name}`;
    if (value === null) delete result[name];
    else if (Array.isArray(value)) result[name] = mergeList(kind, below, listOf(result[name]), value, order);
    else if (isObject(value)) {
      const before = result[name];
      result[name] = mergeObject(kind, below, isObject(before) ? before : {}, value);
    } else result[name] = value;
  }
  return applyPrimitiveDeletions(applyOrders(kind, path, result, rest), rest);
}

function mergeList(kind: string, path: string, target: Json[], patch: Json[], order: Json): Json[] {
  const key = mergeKeyOf(kind, path);
  if (key === undefined) return patch.map(stripDirectives);
  if (key === '') return [...target, ...patch.filter((value) => !target.includes(value))];
  if (patch.some((item) => isObject(item) && item['$patch'] === 'replace' && !(key in item))) {
    return patch.filter((item) => !(isObject(item) && '$patch' in item)).map(stripDirectives);
  }
  const result = [...target];
  for (const item of patch) {
    if (!isObject(item)) throw badRequest(`${path} has an item that is not an object`);
    if (!(key in item))
      throw new ApiError(422, 'Invalid', `map: ${path} does not contain declared merge key: ${key}`);
    const at = result.findIndex((each) => isObject(each) && each[key] === item[key]);
    const found = result[at];
    if (item['$patch'] === 'delete') {
      if (at >= 0) result.splice(at, 1);
    } else if (isObject(found)) result[at] = mergeObject(kind, path, found, item);
    else result.push(stripDirectives(item));
  }
  return Array.isArray(order) ? sortByOrder(result, order, key) : result;
}

/** `$setElementOrder/x` without x itself changes only the order. */
function applyOrders(kind: string, path: string, result: JsonObject, patch: JsonObject): JsonObject {
  for (const [name, order] of Object.entries(patch)) {
    const list = /^\$setElementOrder\/(.+)$/.exec(name)?.[1];
    if (list === undefined || list in patch || !Array.isArray(order)) continue;
    const key = mergeKeyOf(kind, path === '' ? list : `${path}.${list}`);
    if (key !== undefined) result[list] = sortByOrder(listOf(result[list]), order, key);
  }
  return result;
}

function applyPrimitiveDeletions(result: JsonObject, patch: JsonObject): JsonObject {
  for (const [name, values] of Object.entries(patch)) {
    const list = /^\$deleteFromPrimitiveList\/(.+)$/.exec(name)?.[1];
    if (list === undefined || !Array.isArray(values)) continue;
    result[list] = listOf(result[list]).filter((value) => !values.includes(value));
  }
  return result;
}

function sortByOrder(items: Json[], order: readonly Json[], key: string): Json[] {
  const idOf = (item: Json): Json => (isObject(item) ? item[key] : item);
  const wanted = order.map(idOf);
  const placed = items.filter((item) => wanted.includes(idOf(item)));
  placed.sort((a, b) => wanted.indexOf(idOf(a)) - wanted.indexOf(idOf(b)));
  return [...placed, ...items.filter((item) => !wanted.includes(idOf(item)))];
}

function stripDirectives(value: Json): JsonObject;
function stripDirectives(value: Json): Json {
  if (Array.isArray(value)) return value.map(stripDirectives);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, each]) => !name.startsWith('$') && each !== null)
      .map(([name, each]) => [name, stripDirectives(each)]),
  );
}

function listOf(value: Json): Json[] {
  return Array.isArray(value) ? value : [];
}

interface JsonPatchStep {
  readonly op: string;
  readonly path: string;
  readonly from?: string;
  readonly value?: Json;
}

export function jsonPatch(target: JsonObject, patch: Json): JsonObject {
  if (!Array.isArray(patch)) throw badRequest('a JSON patch is a list');
  const root = structuredClone({ root: target });
  for (const step of patch as JsonPatchStep[]) applyStep(root, step);
  return root.root;
}

function applyStep(root: JsonObject, step: JsonPatchStep): void {
  const path = pointer(step.path);
  if (step.op === 'test') {
    if (JSON.stringify(read(root, path)) !== JSON.stringify(step.value))
      throw new ApiError(422, 'Invalid', `testing path ${step.path} failed`);
  } else if (step.op === 'remove') removeAt(root, path);
  else if (step.op === 'add') writeAt(root, path, step.value, true);
  else if (step.op === 'replace') {
    read(root, path);
    writeAt(root, path, step.value, false);
  } else if (step.op === 'move' || step.op === 'copy') {
    const value = read(root, pointer(step.from ?? ''));
    if (step.op === 'move') removeAt(root, pointer(step.from ?? ''));
    writeAt(root, path, structuredClone(value), true);
  } else throw badRequest(`unknown JSON patch operation ${step.op}`);
}

function pointer(path: string): string[] {
  const parts = path.split('/').slice(1);
  return ['root', ...parts.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))];
}

function read(value: Json, path: readonly string[]): Json {
  let current = value;
  for (const part of path) {
    const next = (current as JsonObject | undefined)?.[part];
    if (next === undefined)
      throw new ApiError(422, 'Invalid', `the path /${path.slice(1).join('/')} is missing`);
    current = next;
  }
  return current;
}

function removeAt(root: JsonObject, path: readonly string[]): void {
  read(root, path);
  const parent = read(root, path.slice(0, -1));
  const last = path.at(-1) ?? '';
  if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else delete (parent as JsonObject)[last];
}

function writeAt(root: JsonObject, path: readonly string[], value: Json, insert: boolean): void {
  const parent = read(root, path.slice(0, -1));
  const last = path.at(-1) ?? '';
  if (!Array.isArray(parent)) (parent as JsonObject)[last] = value;
  else if (last === '-') parent.push(value);
  else if (insert) parent.splice(Number(last), 0, value);
  else parent[Number(last)] = value;
}
