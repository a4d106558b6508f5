import { expect, test } from 'vitest';
import { Metrics } from '../base/metrics.ts';
import { StorageHealthMetrics } from './storage-health-metrics.ts';

test('a driver has the series of its latest report only', () => {
  const registry = new Metrics();
  const metrics = new StorageHealthMetrics(registry);
  const series = (): readonly string[] =>
    registry
      .render()
      .split('\n')
      .filter((line) => line.startsWith('csi'));
  metrics.replace('a', [
    { status: 'StorageDegraded', reason: 'Slow' },
    { status: 'StorageUnreachable', reason: 'Down' },
  ]);
  metrics.replace('b', [{ status: 'StorageDegraded', reason: 'Slow' }]);
  expect(series()).toEqual([
    'csi_node_storage_health_status{driver_name="a",status="StorageDegraded",reason="Slow"} 1',
    'csi_node_storage_health_status{driver_name="a",status="StorageUnreachable",reason="Down"} 1',
    'csi_node_storage_health_status{driver_name="b",status="StorageDegraded",reason="Slow"} 1',
  ]);
  metrics.replace('a', [{ status: 'StorageUnreachable', reason: 'Down' }]);
  metrics.replace('b', []);
  expect(series()).toEqual([
    'csi_node_storage_health_status{driver_name="a",status="StorageUnreachable",reason="Down"} 1',
  ]);
});
