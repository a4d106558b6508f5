import { expect, test } from 'vitest';
import { exponentialBuckets, Metrics } from './metrics.ts';

test('renders counters and gauges in Prometheus text format, sorted by name', () => {
  const metrics = new Metrics();
  const jobs = metrics.counter({ name: 'b_total', help: 'Jobs.', labels: ['kind', 'result'] });
  const level = metrics.gauge({ name: 'a_level', help: 'Level.' });
  jobs.inc({ kind: 'x', result: 'ok' });
  jobs.inc({ kind: 'x', result: 'ok' }, 2);
  jobs.inc({ kind: 'y', result: 'ok' });
  level.set({}, -1.5);
  expect(metrics.render()).toBe(
    [
      '# HELP a_level Level.',
      '# TYPE a_level gauge',
      'a_level -1.5',
      '# HELP b_total Jobs.',
      '# TYPE b_total counter',
      'b_total{kind="x",result="ok"} 3',
      'b_total{kind="y",result="ok"} 1',
      '',
    ].join('\n'),
  );
});

test('renders a histogram with cumulative buckets, inclusive bounds and the sum', () => {
  const metrics = new Metrics();
  const took = metrics.histogram({ name: 'took', help: 'Took.', labels: ['op'], buckets: [0.1, 1] });
  for (const seconds of [0.1, 0.5, 1, 7]) took.observe({ op: 'list' }, seconds);
  expect(metrics.render()).toBe(
    [
      '# HELP took Took.',
      '# TYPE took histogram',
      'took_bucket{op="list",le="0.1"} 1',
      'took_bucket{op="list",le="1"} 3',
      'took_bucket{op="list",le="+Inf"} 4',
      'took_sum{op="list"} 8.6',
      'took_count{op="list"} 4',
      '',
    ].join('\n'),
  );
});

test('renders only the bound for a histogram without labels', () => {
  const metrics = new Metrics();
  metrics.histogram({ name: 'h', help: 'H.', buckets: [1] }).observe({}, 2);
  expect(metrics.render()).toContain('h_bucket{le="1"} 0\nh_bucket{le="+Inf"} 1\nh_sum 2\nh_count 1\n');
});

test('escapes label values and help', () => {
  const metrics = new Metrics();
  metrics.counter({ name: 'c', help: 'one\ntwo \\', labels: ['l'] }).inc({ l: 'a"b\\c\nd' });
  expect(metrics.render()).toBe('# HELP c one\\ntwo \\\\\n# TYPE c counter\nc{l="a\\"b\\\\c\\nd"} 1\n');
});

test('runs collectors before each rendering and omits a cleared gauge', () => {
  const metrics = new Metrics();
  const running = metrics.gauge({ name: 'running', help: 'R.', labels: ['state'] });
  let state = 'up';
  metrics.onCollect(() => {
    running.clear();
    running.set({ state }, 1);
  });
  expect(metrics.render()).toContain('running{state="up"} 1');
  state = 'down';
  const text = metrics.render();
  expect([text.includes('"up"'), text.includes('"down"')]).toEqual([false, true]);
});

test('renders counters and histograms without labels from the start, and omits families without a sample', () => {
  const metrics = new Metrics();
  metrics.counter({ name: 'c', help: 'C.' });
  metrics.histogram({ name: 'h', help: 'H.', buckets: [1] });
  metrics.gauge({ name: 'g', help: 'G.' });
  metrics.counter({ name: 'l', help: 'L.', labels: ['x'] });
  expect(metrics.render()).toBe(
    '# HELP c C.\n# TYPE c counter\nc 0\n# HELP h H.\n# TYPE h histogram\nh_bucket{le="1"} 0\nh_bucket{le="+Inf"} 0\nh_sum 0\nh_count 0\n',
  );
  expect(metrics.describe()).toEqual([
    { name: 'c', type: 'counter', labels: [] },
    { name: 'g', type: 'gauge', labels: [] },
    { name: 'h', type: 'histogram', labels: [] },
    { name: 'l', type: 'counter', labels: ['x'] },
  ]);
});

test('rejects a second metric of the same name', () => {
  const metrics = new Metrics();
  metrics.counter({ name: 'c', help: '' });
  expect(() => metrics.gauge({ name: 'c', help: '' })).toThrow('metric c is already registered');
  expect(metrics.names()).toEqual(['c']);
});

test('exponential buckets', () => {
  expect(exponentialBuckets(1, 2, 4)).toEqual([1, 2, 4, 8]);
});

test('renders infinite values as +Inf and -Inf', () => {
  const metrics = new Metrics();
  const gauge = metrics.gauge({ name: 'g', help: '', labels: ['s'] });
  gauge.set({ s: '+' }, Number.POSITIVE_INFINITY);
  gauge.set({ s: '-' }, Number.NEGATIVE_INFINITY);
  expect(metrics.render()).toContain('g{s="+"} +Inf\ng{s="-"} -Inf\n');
});
