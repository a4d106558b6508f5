// What this kubelet and its node are, as labels and constants. Upstream: component-base/metrics/prometheus/version,
// pkg/kubelet/kubelet_linux.go.
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
    help: 'The version of this kubelet, as labels; always 1.',
    labels: buildLabels,
  });
  version.set(build, 1);
  const cgroups = registry.gauge({
    name: 'kubelet_cgroup_version',
    help: 'The version of control groups that the node has: 1 or 2.',
  });
  cgroups.set({}, cgroupVersion);
}
