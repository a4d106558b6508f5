// What a kind of plugin does when a plugin of that kind registers. Upstream: PluginHandler in pkg/kubelet/pluginmanager/cache.

export interface PluginInfo {
  /** The socket below plugins_registry. */
  readonly socket: string;
  readonly type: string;
  readonly name: string;
  /** The socket that serves the plugin's own API; the registration socket if the plugin names none. */
  readonly endpoint: string;
  readonly versions: readonly string[];
}

export interface PluginHandler {
  /** The reason to reject the plugin. Must not block. */
  validate(info: PluginInfo): string | undefined;
  /** Rejects with the error that the plugin is given; after a rejection nothing of the plugin is left. */
  register(info: PluginInfo, signal: AbortSignal): Promise<void>;
  /** No effect on a plugin of the same name with another endpoint, or on one that is not registered. */
  deregister(plugin: Pick<PluginInfo, 'name' | 'endpoint'>): Promise<void>;
}

/** By type: `DevicePlugin`, `CSIPlugin`, `DRAPlugin`. */
export type PluginHandlers = ReadonlyMap<string, PluginHandler>;
