// Which device plugins are registered, through either way, for the node's readiness. Passes registrations on to the device manager.
// Invariant: a plugin counts as registered after the device manager has accepted it, until it is deregistered.
import type { DevicePluginRegistry } from '../api/ports/device-plugins.ts';
import { Channel } from '../base/channel.ts';

type Plugin = Parameters<DevicePluginRegistry['register']>[0];

export class RegisteredDevicePlugins implements DevicePluginRegistry {
  /** Announces a resource whose plugin has registered or gone. */
  readonly changed = new Channel<string>();
  readonly #registry: DevicePluginRegistry;
  /** The socket of the plugin that registered last, by resource. */
  readonly #sockets = new Map<string, string>();

  constructor(registry: DevicePluginRegistry) {
    this.#registry = registry;
  }

  isRegistered(resource: string): boolean {
    return this.#sockets.has(resource);
  }

  async register(plugin: Plugin, signal: AbortSignal): Promise<void> {
    await this.#registry.register(plugin, signal);
    this.#sockets.set(plugin.resource, plugin.socket);
    this.changed.push(plugin.resource);
  }

  deregister(plugin: Omit<Plugin, 'versions'>): void {
    this.#registry.deregister(plugin);
    if (this.#sockets.get(plugin.resource) !== plugin.socket) return;
    this.#sockets.delete(plugin.resource);
    this.changed.push(plugin.resource);
  }
}
