// Metrics of the live configuration. Upstream (until 1.23): the node_config metrics of pkg/kubelet/metrics; a configuration was
// then an object, here it is the checksum of its files.
import type { Metrics } from '../base/metrics.ts';
import type { ConfigStatus } from './config-status.ts';

const labels = ['node_config_checksum'] as const;

/** Registered only while the feature is on. */
export function measureConfigStatus(
  registry: Metrics,
  status: Pick<ConfigStatus, 'current' | 'loads'>,
): void {
  const which = {
    assigned: registry.gauge({
      name: 'kubelet_node_config_assigned',
      help: 'The checksum of the configuration files as last read. Always 1.',
      labels,
    }),
    active: registry.gauge({
      name: 'kubelet_node_config_active',
      help: 'The checksum of the configuration that the kubelet uses. Always 1.',
      labels,
    }),
    lastKnownGood: registry.gauge({
      name: 'kubelet_node_config_last_known_good',
      help: 'The checksum of the configuration that the kubelet falls back to. Always 1.',
      labels,
    }),
  };
  const error = registry.gauge({
    name: 'kubelet_node_config_error',
    help: '1 if the kubelet does not use the configuration in its files because it is invalid or failed, otherwise 0.',
  });
  const loads = registry.counter({
    name: 'kubelet_node_config_loads_total',
    help: 'How often the configuration files were read after the start, by result.',
    labels: ['result'],
  });
  registry.onCollect(() => {
    const current = status.current();
    for (const name of ['assigned', 'active', 'lastKnownGood'] as const) {
      const checksum = current[name];
      which[name].clear();
      if (checksum !== undefined) which[name].set({ node_config_checksum: checksum }, 1);
    }
    error.set({}, current.error === undefined ? 0 : 1);
    for (const [result, count] of Object.entries(status.loads())) loads.raiseTo({ result }, count);
  });
}
