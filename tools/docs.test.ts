// Keeps the documentation true: what it names has to be there, and what is there has to be named.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { restClientMetrics } from '../src/edge/apiserver/metrics.ts';
import { ProbeMetrics } from '../src/probes/probe-metrics.ts';
import { HttpMetrics } from '../src/server/http-metrics.ts';
import { ClusterMetrics } from '../src/stats/cluster-metrics.ts';
import { KubeletMetrics } from '../src/stats/kubelet-metrics.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

function filesBelow(directory: string): readonly string[] {
  return readdirSync(join(root, directory), { recursive: true }).map(
    (name) => `${directory}/${String(name)}`,
  );
}

const tests = ['src', 'integration', 'tools'].flatMap(filesBelow).filter((path) => path.endsWith('.test.ts'));

function matching(pattern: string): readonly string[] {
  const source = pattern
    .split('**/')
    .map((part) => part.replaceAll('.', '\\.').replaceAll('*', '[^/]*'))
    .join('(?:.*/)?');
  return tests.filter((path) => new RegExp(`^${source}$`).test(path));
}

describe('docs/parity.md', () => {
  const named = [
    ...new Set(read('docs/parity.md').match(/(?:src|integration|tools)\/[\w./*-]+\.test\.ts/g) ?? []),
  ];
  test.each(named)('names a test that exists: %s', (pattern) => {
    expect(matching(pattern)).not.toEqual([]);
  });
  test('every row of a table names one', () => {
    const rows = read('docs/parity.md')
      .split('\n')
      .filter(
        (line) => line.startsWith('| ') && !line.startsWith('| capability') && !line.startsWith('| ---'),
      );
    expect(rows.length).toBeGreaterThan(20);
    expect(rows.filter((row) => !row.includes('.test.ts'))).toEqual([]);
  });
});

describe('docs/metrics.md', () => {
  const metrics = new KubeletMetrics({
    desired: { all: () => [] },
    observed: { all: () => new Map() },
    gates: [],
    nodeName: 'n',
  });
  restClientMetrics(metrics.registry);
  const cluster = new ClusterMetrics({ registry: metrics.registry, mirrorPods: () => 0, nowMs: () => 0 });
  cluster.observeStatusSync(0);
  expect(new HttpMetrics(metrics.registry, { monotonic: () => 0 })).toBeDefined();
  test('lists exactly the metrics there are', () => {
    const listed = [...read('docs/metrics.md').matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name ?? '');
    expect(new Set(listed)).toEqual(new Set([...metrics.names(), ...new ProbeMetrics().names()]));
  });
});

describe('links', () => {
  const pages = [
    'README.md',
    'ARCHITECTURE.md',
    ...filesBelow('docs').filter((path) => path.endsWith('.md')),
  ];
  test.each(pages)('%s links to files that exist', (page) => {
    const targets = [...read(page).matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, target]) => target ?? '');
    const missing = targets.filter((target) => !existsSync(join(root, dirname(page), target)));
    expect(missing).toEqual([]);
  });
});
