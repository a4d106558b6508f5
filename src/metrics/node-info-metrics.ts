// Constant metrics: the kubelet's version, the node's cgroup version and its container runtime. Upstream:
// component-base/metrics/prometheus/version, pkg/kubelet/kubelet_linux.go.
import type { Metrics } from '../base/metrics.ts';

const buildLabels = [
  'build_date',
  'compiler',
  'git_commit',
  'git_tree_state',
  'git_version',
  'go_version',
  'major',
  'minor',
  'platform',
] as const;

/** The release whose kubelet requires the CRI call RuntimeConfig. */
const requiresRuntimeConfig = '1.38.0';

interface NodeInfo {
  readonly cgroupVersion: number;
  /** Whether the runtime has the CRI call RuntimeConfig. */
  readonly runtimeReportsConfig: boolean;
  readonly build: Readonly<Record<(typeof buildLabels)[number], string>>;
}

export function nodeInfoMetrics(registry: Metrics, info: NodeInfo): void {
  const { build, cgroupVersion, runtimeReportsConfig } = info;
  const version = registry.gauge({
    name: 'kubernetes_build_info',
    help: 'Build information of this kubelet; always 1.',
    labels: buildLabels,
  });
  version.set(build, 1);
  const cgroups = registry.gauge({
    name: 'kubelet_cgroup_version',
    help: 'Cgroup version of the node: 1 or 2.',
  });
  cgroups.set({}, cgroupVersion);
  const losing = registry.gauge({
    name: 'kubelet_cri_losing_support',
    help: 'The Kubernetes release that will no longer support this container runtime; always 1.',
    labels: ['version'],
  });
  if (!runtimeReportsConfig) losing.set({ version: requiresRuntimeConfig }, 1);
  const provider = registry.gauge({
    name: 'kubelet_metrics_provider',
    help: 'Where the metrics of containers come from; always 1.',
    labels: ['provider'],
  });
  provider.set({ provider: 'cadvisor' }, 1);
}
