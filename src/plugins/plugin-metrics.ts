// Metrics of plugins. Upstream: pkg/kubelet/pluginmanager/metrics and pkg/kubelet/metrics.
import type { Metrics } from '../base/metrics.ts';

/** Counted on every scrape. */
export function countPlugins(
  registry: Metrics,
  manager: { readonly sockets: Iterable<string>; readonly registered: Iterable<string> },
): void {
  const plugins = registry.gauge({
    name: 'plugin_manager_total_plugins',
    help: '[ALPHA] Number of plugins in Plugin Manager',
    labels: ['socket_path', 'state'],
  });
  registry.onCollect(() => {
    plugins.clear();
    for (const path of manager.registered)
      plugins.set({ socket_path: path, state: 'actual_state_of_world' }, 1);
    for (const path of manager.sockets)
      plugins.set({ socket_path: path, state: 'desired_state_of_world' }, 1);
  });
}

/** Returns the function that counts a registration. */
export function countDevicePluginRegistrations(registry: Metrics): (resource: string) => void {
  const registrations = registry.counter({
    name: 'kubelet_device_plugin_registration_total',
    help: '[ALPHA] Cumulative number of device plugin registrations. Broken down by resource name.',
    labels: ['resource_name'],
  });
  return (resource) => registrations.inc({ resource_name: resource });
}
