// Decides what brings the registration of one socket up to date. Upstream: pkg/kubelet/pluginmanager/reconciler.
import type { PluginInfo } from './plugin-handler.ts';

export interface RegisteredPlugin extends Omit<PluginInfo, 'versions'> {
  /** Of the socket: another one means that the socket was recreated. */
  readonly incarnation: string;
}

type PluginAction =
  /** `isShared`: the same plugin is registered through another socket, so its handler keeps it. */
  | { readonly do: 'deregister'; readonly plugin: RegisteredPlugin; readonly isShared: boolean }
  | { readonly do: 'register'; readonly incarnation: string };

/** Incarnations and registered plugins by socket. Pure. */
export function computePluginActions(
  socket: string,
  desired: ReadonlyMap<string, string>,
  actual: ReadonlyMap<string, RegisteredPlugin>,
): readonly PluginAction[] {
  const incarnation = desired.get(socket);
  const plugin = actual.get(socket);
  if (incarnation === plugin?.incarnation) return [];
  const actions: PluginAction[] = [];
  if (plugin !== undefined)
    actions.push({ do: 'deregister', plugin, isShared: isShared(plugin, actual.values()) });
  if (incarnation !== undefined) actions.push({ do: 'register', incarnation });
  return actions;
}

/**
 * Whether the same plugin is registered through another socket.
 * differs from upstream: there the removal of either socket removes the plugin.
 */
export function isShared(
  { endpoint, name, socket, type }: Omit<PluginInfo, 'versions'>,
  actual: Iterable<RegisteredPlugin>,
): boolean {
  for (const other of actual)
    if (other.socket !== socket && other.type === type && other.name === name && other.endpoint === endpoint)
      return true;
  return false;
}
