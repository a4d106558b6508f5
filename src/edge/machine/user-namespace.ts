// Whether the kubelet runs in a user namespace, as rootless clusters do. Upstream: github.com/moby/sys/userns.
import { readFile } from 'node:fs/promises';

export async function inUserNamespace(): Promise<boolean> {
  const map = await readFile('/proc/self/uid_map', 'utf8').catch(() => undefined);
  return map !== undefined && mapsToUserNamespace(map);
}

/** The initial user namespace maps all IDs to themselves. A namespace without a mapping yet is not the initial one. */
export function mapsToUserNamespace(uidMap: string): boolean {
  const [first = ''] = uidMap.split('\n');
  const [inside, outside, length] = first.trim().split(/\s+/);
  if (inside === '') return true;
  return !(inside === '0' && outside === '0' && length === '4294967295');
}
