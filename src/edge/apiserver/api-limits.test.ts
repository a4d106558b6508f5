import { expect, test } from 'vitest';
import { apiServerLimits } from './api-limits.ts';

const config = {
  kubeAPIQPS: 50,
  kubeAPIBurst: 100,
  eventRecordQPS: 50,
  eventBurst: 100,
  nodeLeaseDurationSeconds: 40,
  nodeStatusUpdateFrequency: { ms: 10_000 },
};

test('requests and events have the rates of the configuration', () => {
  const { limits } = apiServerLimits({ ...config, kubeAPIQPS: 7, kubeAPIBurst: 8, eventRecordQPS: 0 });
  expect(limits).toEqual({ requests: { qps: 7, burst: 8 }, events: { qps: 0, burst: 100 } });
});

test('kubeAPIQPS 0 stands for the default of client-go', () => {
  expect(apiServerLimits({ ...config, kubeAPIQPS: 0 }).limits.requests).toEqual({ qps: 5, burst: 10 });
});

test('a heartbeat times out with the status update or the lease, whichever comes first', () => {
  const timeout = (updateMs: number): number =>
    apiServerLimits({ ...config, nodeStatusUpdateFrequency: { ms: updateMs } }).heartbeatTimeoutMs;
  expect([timeout(10_000), timeout(60_000)]).toEqual([10_000, 40_000]);
});
