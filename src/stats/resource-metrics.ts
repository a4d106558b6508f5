// Renders /metrics/resource, the source of metrics-server and autoscalers. Pure. Names, labels and timestamps are upstream's.
// Upstream: pkg/kubelet/metrics/collectors/resource_metrics.go.
import { labelText } from '../base/metrics.ts';
import type { CollectedUsage, Measured } from './collect/collect-usage.ts';
import { Exposition, type FamilySpec } from './exposition.ts';

export const resourceFamilies: readonly FamilySpec[] = [
  {
    name: 'container_cpu_usage_seconds_total',
    type: 'counter',
    help: 'Cumulative CPU time of the container.',
  },
  { name: 'container_memory_working_set_bytes', type: 'gauge', help: 'Working set of the container.' },
  {
    name: 'container_start_time_seconds',
    type: 'gauge',
    help: 'Start time of the container in seconds since the epoch.',
  },
  { name: 'container_swap_limit_bytes', type: 'gauge', help: 'Swap limit of the container.' },
  { name: 'container_swap_usage_bytes', type: 'gauge', help: 'Swap usage of the container.' },
  { name: 'node_cpu_usage_seconds_total', type: 'counter', help: 'Cumulative CPU time of the node.' },
  { name: 'node_memory_working_set_bytes', type: 'gauge', help: 'Working set of the node.' },
  { name: 'node_swap_usage_bytes', type: 'gauge', help: 'Swap usage of the node.' },
  { name: 'pod_cpu_usage_seconds_total', type: 'counter', help: 'Cumulative CPU time of the pod.' },
  { name: 'pod_memory_working_set_bytes', type: 'gauge', help: 'Working set of the pod.' },
  { name: 'pod_swap_usage_bytes', type: 'gauge', help: 'Swap usage of the pod.' },
  {
    name: 'resource_scrape_error',
    type: 'gauge',
    help: '1 if a figure could not be collected, 0 otherwise.',
  },
];

/** Undefined: the collection failed. */
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

function addUsage(text: Exposition, scope: string, labels: string, usage: Measured | undefined): void {
  if (usage === undefined) return;
  const { atMs, cpuNs, memory } = usage;
  if (cpuNs !== undefined) text.add(`${scope}_cpu_usage_seconds_total`, labels, cpuNs / 1e9, atMs);
  if (memory === undefined) return;
  text.add(`${scope}_memory_working_set_bytes`, labels, memory.workingSetBytes, atMs);
  text.add(`${scope}_swap_usage_bytes`, labels, memory.swapBytes, atMs);
}

function addSwapLimit(text: Exposition, labels: string, usage: Measured | undefined): void {
  const limit = usage?.memory?.swapLimitBytes;
  if (usage === undefined || limit === undefined || !Number.isFinite(limit)) return;
  text.add('container_swap_limit_bytes', labels, limit, usage.atMs);
}
