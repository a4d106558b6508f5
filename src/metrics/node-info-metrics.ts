// Constant metrics: the kubelet's version and the node's cgroup version. Upstream:
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

interface NodeInfo {
  readonly cgroupVersion: number;
  readonly build: Readonly<Record<(typeof buildLabels)[number], string>>;
}

export function nodeInfoMetrics(registry: Metrics, { build, cgroupVersion }: NodeInfo): void {
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
}
