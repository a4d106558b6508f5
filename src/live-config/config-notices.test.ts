import { expect, test } from 'vitest';
import type { EventText } from '../api/ports/events.ts';
import { startComponent } from '../base/component.ts';
import { Aborted } from '../base/errors.ts';
import { Metrics } from '../base/metrics.ts';
import { configNotices } from './config-notices.ts';
import { ConfigStatus, historyLimits } from './config-status.ts';
import { measureConfigStatus } from './live-config-metrics.ts';

const notice = (message: string) => ({ type: 'Warning', reason: 'KubeletConfigFellBack', message }) as const;

test('emits each notice once: those from before the start, and those that follow', async () => {
  const status = new ConfigStatus();
  const events: EventText[] = [];
  status.notify(notice('before'));
  const stop = new AbortController();
  const component = configNotices(status, { node: (event) => void events.push(event) });
  const { stopped } = await startComponent(component, stop.signal);
  status.notify(notice('after'));
  stop.abort(new Aborted('stop'));
  await stopped;
  status.notify(notice('kept for the next kubelet'));
  expect(events.map(({ message }) => message)).toEqual(['before', 'after']);
  expect(status.takeNotices()).toHaveLength(1);
});

test('keeps a bounded number of notices while no kubelet runs', () => {
  const status = new ConfigStatus();
  for (let count = 0; count < 100; count++) status.notify(notice(String(count)));
  expect(status.takeNotices()).toHaveLength(historyLimits.notices);
});

test('the metrics name the current configurations and whether one failed', () => {
  const status = new ConfigStatus();
  const registry = new Metrics();
  measureConfigStatus(registry, status);
  status.setCurrent({ assigned: 'new', active: 'old', lastKnownGood: 'older', error: 'it failed' });
  status.setCurrent({ active: 'older' });
  status.countLoad('invalid');
  const lines = registry
    .render()
    .split('\n')
    .filter((line) => !line.startsWith('#') && line !== '');
  expect(lines.toSorted()).toEqual([
    'kubelet_node_config_active{node_config_checksum="older"} 1',
    'kubelet_node_config_assigned{node_config_checksum="new"} 1',
    'kubelet_node_config_error 1',
    'kubelet_node_config_last_known_good{node_config_checksum="older"} 1',
    'kubelet_node_config_loads_total{result="changed"} 0',
    'kubelet_node_config_loads_total{result="invalid"} 1',
    'kubelet_node_config_loads_total{result="unchanged"} 0',
  ]);
});

test('an entry is bounded', () => {
  const status = new ConfigStatus();
  const changes = Array.from({ length: 80 }, (_, at) => ({ path: `f${at}`, applies: 'now' as const }));
  const reasons = Array.from({ length: 80 }, () => 'x'.repeat(10_000));
  status.add({ time: 't', checksum: 'c', sources: [], changes, outcome: 'rejected', reasons });
  const [entry] = status.entries();
  expect(entry?.changes).toHaveLength(historyLimits.changes);
  expect(entry?.moreChanges).toBe(80 - historyLimits.changes);
  expect(JSON.stringify(entry).length).toBeLessThan(20_000);
});
