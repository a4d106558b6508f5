// The annotation by which the runtime remembers the devices of a container, so that a lost checkpoint can be rebuilt. Pure.
// Not in upstream. Invariant: this name never changes, since running containers carry it.
import { isObject } from '../../base/guards.ts';

/** On containers, never on pods: JSON of device IDs by resource. */
export const devicesAnnotation = 'io.kubernetes.container.devices';

/** A longer list is left out: the checkpoint alone has it. */
const longest = 64 * 1024;

export function formatDevicesAnnotation(
  holdings: readonly { readonly resource: string; readonly ids: readonly string[] }[],
): string | undefined {
  if (holdings.length === 0) return undefined;
  const text = JSON.stringify(Object.fromEntries(holdings.map(({ ids, resource }) => [resource, ids])));
  return text.length <= longest ? text : undefined;
}

/** Undefined if it is absent or malformed. */
export function parseDevicesAnnotation(
  text: string | undefined,
): ReadonlyMap<string, readonly string[]> | undefined {
  if (text === undefined || text.length > longest) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (!isObject(value)) return undefined;
    const entries = Object.entries(value).map(([resource, ids]) => [resource, idsOf(ids)] as const);
    return new Map(entries);
  } catch {
    return undefined;
  }
}

function idsOf(value: unknown): readonly string[] {
  if (Array.isArray(value) && value.every((id): id is string => typeof id === 'string')) return value;
  throw new TypeError('not a list of device IDs');
}
