import { expect, test } from 'vitest';
import { Metrics } from '../base/metrics.ts';
import { CsiMetrics } from './csi-metrics.ts';

test('times calls by driver, method, code and migration', () => {
  const metrics = new Metrics();
  const csi = new CsiMetrics(metrics);
  const call = { driver: 'd.example.com', method: '/csi.v1.Node/NodeStageVolume' };
  csi.observe({ ...call, code: 'OK', migrated: false, seconds: 0.2 });
  csi.observe({ ...call, code: 'DeadlineExceeded', migrated: true, seconds: 120 });
  const labels = 'driver_name="d.example.com",method_name="/csi.v1.Node/NodeStageVolume"';
  const text = metrics.render();
  expect(text).toContain(
    `csi_operations_seconds_bucket{${labels},grpc_status_code="OK",migrated="false",le="0.25"} 1\n`,
  );
  expect(text).toContain(`${labels},grpc_status_code="DeadlineExceeded",migrated="true",le="50"} 0\n`);
  expect(text).toContain(`${labels},grpc_status_code="DeadlineExceeded",migrated="true",le="120"} 1\n`);
});
