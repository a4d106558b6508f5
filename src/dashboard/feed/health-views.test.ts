import { expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { noPageRecords } from '../../../test/fakes/no-page-records.ts';
import { HealthViews } from './health-views.ts';

function views() {
  const clock = new FakeClock();
  const process = { cpuSeconds: 10, residentBytes: 1, heapUsedBytes: 2, openFiles: 3 };
  const watched: number[] = [];
  const health = new HealthViews({
    checks: [
      { name: 'pleg', check: () => undefined },
      { name: 'runtime', check: () => 'x'.repeat(10_000) },
    ],
    records: noPageRecords.load,
    process: { load: () => process },
    loopDelay: {
      watch: (forMs) => void watched.push(forMs),
      longestSinceMs: () => [0, 1.04, 2, 80],
    },
    clock,
  });
  return { clock, health, process, watched };
}

test('checks have their problem, bounded', () => {
  const [pleg, runtime] = views().health.view(1).checks;
  expect(pleg).toEqual({ name: 'pleg' });
  expect(runtime?.problem?.length).toBe(500);
});

test('the event loop is measured for as long as viewers watch', () => {
  const { health, watched } = views();
  expect(health.view(1).loopDelayMs).toEqual({ p50: 1, p99: 80, max: 80 });
  expect(watched).toEqual([5_000]);
});

test('CPU is the difference of two views that are close to each other', async () => {
  const { clock, health, process } = views();
  expect(health.view(1)).toMatchObject({
    cpuMillis: null,
    rssBytes: 1,
    heapBytes: 2,
    openFiles: 3,
    viewers: 1,
  });
  await clock.advance(1_000);
  process.cpuSeconds = 10.25;
  expect(health.view(2).cpuMillis).toBe(250);
  await clock.advance(60_000);
  expect(health.view(2).cpuMillis).toBeNull();
});
