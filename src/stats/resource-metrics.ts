// Renders /metrics/resource: what metrics-server and autoscalers live on. Pure. Upstream:
// pkg/kubelet/metrics/collectors/resource_metrics.go, whose names, labels and timestamps these are.
import { labelText } from '../base/metrics.ts';
import type { CollectedUsage, Measured } from './collect/collect-usage.ts';
import { Exposition, type FamilySpec } from './exposition.ts';

export const resourceFamilies: readonly FamilySpec[] = [
  {
    name: 'container_cpu_usage_seconds_total',
    type: 'counter',
    help: 'CPU time that the container has used.',
  },
  { name: 'container_memory_working_set_bytes', type: 'gauge', help: 'Working set of the container.' },
  {
    name: 'container_start_time_seconds',
    type: 'gauge',
    help: 'When the container was made, since the epoch.',
  },
  { name: 'container_swap_limit_bytes', type: 'gauge', help: 'Swap that the container may use.' },
  { name: 'container_swap_usage_bytes', type: 'gauge', help: 'Swap that the container uses.' },
  { name: 'node_cpu_usage_seconds_total', type: 'counter', help: 'CPU time that the node has used.' },
  { name: 'node_memory_working_set_bytes', type: 'gauge', help: 'Working set of the node.' },
  { name: 'node_swap_usage_bytes', type: 'gauge', help: 'Swap that the node uses.' },
  { name: 'pod_cpu_usage_seconds_total', type: 'counter', help: 'CPU time that the pod has used.' },
  { name: 'pod_memory_working_set_bytes', type: 'gauge', help: 'Working set of the pod.' },
  { name: 'pod_swap_usage_bytes', type: 'gauge', help: 'Swap that the pod uses.' },
  {
    name: 'resource_scrape_error',
    type: 'gauge',
    help: '1 when something of this could not be learnt, 0 otherwise.',
  },
];

/** Undefined: nothing could be learnt at all. */
export function renderResourceMetrics(usage: CollectedUsage | undefined): string {
  const text = new Exposition(resourceFamilies);
  text.add('resource_scrape_error', '', usage === undefined || usage.faults.length > 0 ? 1 : 0);
  if (usage === undefined) return text.render();
  addUsage(text, 'node', '', usage.node);
  for (const { containers, pod, usage: own } of usage.pods) {
    const { name, namespace } = pod;
    for (const { container, usage: each } of containers) {
      const labels = labelText(['container', 'namespace', 'pod'], {
        container: container.name,
        namespace,
        pod: name,
      });
      text.add('container_start_time_seconds', labels, container.createdAtMs / 1000);
      addUsage(text, 'container', labels, each);
      addSwapLimit(text, labels, each);
    }
    addUsage(text, 'pod', labelText(['namespace', 'pod'], { namespace, pod: name }), own);
  }
  return text.render();
}

function addUsage(text: Exposition, whose: string, labels: string, usage: Measured | undefined): void {
  if (usage === undefined) return;
  const { atMs, cpuNs, memory } = usage;
  if (cpuNs !== undefined) text.add(`${whose}_cpu_usage_seconds_total`, labels, cpuNs / 1e9, atMs);
  if (memory === undefined) return;
  text.add(`${whose}_memory_working_set_bytes`, labels, memory.workingSetBytes, atMs);
  text.add(`${whose}_swap_usage_bytes`, labels, memory.swapBytes, atMs);
}

function addSwapLimit(text: Exposition, labels: string, usage: Measured | undefined): void {
  const limit = usage?.memory?.swapLimitBytes;
  if (usage === undefined || limit === undefined || !Number.isFinite(limit)) return;
  text.add('container_swap_limit_bytes', labels, limit, usage.atMs);
}
