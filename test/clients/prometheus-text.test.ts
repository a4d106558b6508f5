import { describe, expect, test } from 'vitest';
import { Metrics } from '../../src/base/metrics.ts';
import { parsePrometheusText, sampleOf } from './prometheus-text.ts';

const family = '# HELP a A.\n# TYPE a gauge\n';

describe('parsePrometheusText accepts', () => {
  test('labels with special characters, timestamps and large numbers', () => {
    const parsed = parsePrometheusText(`${family}a{x="q\\"\\\\\\n",y=""} 1.5e+09 1700000000000\na 2\n`);
    expect(parsed.get('a')?.samples).toEqual([
      { name: 'a', labels: { x: 'q"\\\n', y: '' }, value: 1.5e9, atMs: 1_700_000_000_000 },
      { name: 'a', labels: {}, value: 2, atMs: undefined },
    ]);
  });
  test('the output of our own registry', () => {
    const metrics = new Metrics();
    metrics.histogram({ name: 'h', help: 'H.', labels: ['l'], buckets: [0.1, 1] }).observe({ l: 'a"b' }, 0.5);
    metrics.counter({ name: 'c', help: 'C.' }).inc({});
    const parsed = parsePrometheusText(metrics.render());
    expect(sampleOf(parsed, 'h', { le: '1' }).value).toBe(1);
    expect(sampleOf(parsed, 'c').value).toBe(1);
  });
});

describe('parsePrometheusText rejects', () => {
  test.each([
    ['no end', `${family}a 1`],
    ['no family', 'a 1\n'],
    ['another family', `${family}b 1\n`],
    ['a family twice', `${family}${family}`],
    ['a series twice', `${family}a{x="1"} 1\na{x="1"} 2\n`],
    ['a label twice', `${family}a{x="1",x="2"} 1\n`],
    ['an unescaped quote', `${family}a{x="1"2"} 1\n`],
    ['no value', `${family}a\n`],
    ['no number', `${family}a undefined\n`],
    ['NaN', `${family}a NaN\n`],
    ['a type without help', '# TYPE a gauge\n'],
    ['an unknown type', '# HELP a A.\n# TYPE a thing\n'],
    ['a negative counter', '# HELP a A.\n# TYPE a counter\na -1\n'],
    [
      'decreasing buckets',
      '# HELP a A.\n# TYPE a histogram\na_bucket{le="1"} 2\na_bucket{le="+Inf"} 1\na_sum 1\na_count 1\n',
    ],
    [
      'a histogram without the +Inf bucket',
      '# HELP a A.\n# TYPE a histogram\na_bucket{le="1"} 2\na_sum 1\na_count 2\n',
    ],
  ])('%s', (_, text) => expect(() => parsePrometheusText(text)).toThrow(SyntaxError));
});
