// The number of plugins. Upstream: pkg/kubelet/pluginmanager/metrics.
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
