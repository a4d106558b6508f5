// Keeps the documentation true: every test, metric, route and link that it names exists, and every metric and route is named.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

import { noEvents } from '../src/api/ports/events.ts';
import { AutonomyReport } from '../src/autonomy/autonomy-report.ts';
import { Channel } from '../src/base/channel.ts';
import { silentLogger } from '../src/base/log/log.ts';
import { measureClientCertificate, measureServingCertificate } from '../src/certs/certificate-metrics.ts';
import { FeedMetrics } from '../src/dashboard/feed/feed-metrics.ts';
import { restClientMetrics } from '../src/edge/apiserver/metrics.ts';
import { HistoryMetrics } from '../src/history/history-metrics.ts';
import { ConfigStatus } from '../src/live-config/config-status.ts';
import { measureConfigStatus } from '../src/live-config/live-config-metrics.ts';
import { buildInfo } from '../src/metrics/build-info.ts';
import { ClusterMetrics } from '../src/metrics/cluster-metrics.ts';
import { KubeletMetrics } from '../src/metrics/kubelet-metrics.ts';
import { loopDelayMetrics } from '../src/metrics/loop-delay-metrics.ts';
import { nodeInfoMetrics } from '../src/metrics/node-info-metrics.ts';
import { podCountMetrics } from '../src/metrics/pod-count-metrics.ts';
import { processMetrics } from '../src/metrics/process-metrics.ts';
import { ShutdownMetrics } from '../src/metrics/shutdown-metrics.ts';
import { countPlugins } from '../src/plugins/plugin-metrics.ts';
import { measureCertificateStates } from '../src/pod-certificates/certificate-states.ts';
import { PodResourcesMetrics } from '../src/pod-resources/pod-resources-metrics.ts';
import { PodsApiMetrics } from '../src/pods-api/pods-api-metrics.ts';
import { ProbeMetrics } from '../src/probes/probe-metrics.ts';
import { CpuManagerMetrics } from '../src/resources/cpu/cpu-manager-metrics.ts';
import { MemoryManagerMetrics } from '../src/resources/memory/memory-manager-metrics.ts';
import { TopologyMetrics } from '../src/resources/topology/topology-metrics.ts';
import { AuthMetrics } from '../src/server/auth/auth-metrics.ts';
import { HttpMetrics } from '../src/server/http-metrics.ts';
import { HealthSlis } from '../src/server/node/health-slis.ts';
import { type RouteRow, routeTable } from '../src/server/route-table.ts';
import { StreamMetrics } from '../src/server/streams/stream-metrics.ts';
import { cadvisorFamilies } from '../src/stats/cadvisor/cadvisor-metrics.ts';
import { DiskMetrics } from '../src/stats/disk-metrics.ts';
import { resourceFamilies } from '../src/stats/resource-metrics.ts';
import { fakeStatsEdge } from '../test/fakes/fake-stats-edge.ts';
import { upstreamMetrics } from './fixtures/upstream-metrics.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

function filesBelow(directory: string): readonly string[] {
  return readdirSync(join(root, directory), { recursive: true }).map(
    (name) => `${directory}/${String(name)}`,
  );
}

const tests = ['src', 'test', 'integration', 'tools']
  .flatMap(filesBelow)
  .filter((path) => path.endsWith('.test.ts'));

function matching(pattern: string): readonly string[] {
  const source = pattern
    .split('**/')
    .map((part) => part.replaceAll('.', '\\.').replaceAll('*', '[^/]*'))
    .join('(?:.*/)?');
  return tests.filter((path) => new RegExp(`^${source}$`).test(path));
}

describe('docs/parity.md', () => {
  const named = [
    ...new Set(read('docs/parity.md').match(/(?:src|test|integration|tools)\/[\w./*-]+\.test\.ts/g) ?? []),
  ];
  test.each(named)('names a test that exists: %s', (pattern) => {
    expect(matching(pattern)).not.toEqual([]);
  });
  test('names a test in every row', () => {
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
    clock: { now: () => 0, monotonic: () => 0 },
  });
  restClientMetrics(metrics.registry);
  const cluster = new ClusterMetrics({
    registry: metrics.registry,
    mirrorPods: () => 0,
    clock: { now: () => 0 },
    bootedAtMs: 0,
  });
  cluster.observeStatusSync(0);
  expect(new AuthMetrics(metrics.registry, { monotonic: () => 0, now: () => 0 })).toBeDefined();
  expect(new HttpMetrics(metrics.registry, { monotonic: () => 0 })).toBeDefined();
  expect(new StreamMetrics(metrics.registry)).toBeDefined();
  expect(new PodsApiMetrics(metrics.registry)).toBeDefined();
  expect(new PodResourcesMetrics(metrics.registry)).toBeDefined();
  expect(new MemoryManagerMetrics(metrics.registry)).toBeDefined();
  const alignment = new TopologyMetrics(metrics.registry, { monotonic: () => 0 });
  expect(new CpuManagerMetrics(metrics.registry, alignment)).toBeDefined();
  countPlugins(metrics.registry, { sockets: [], registered: [] });
  expect(new HistoryMetrics(metrics.registry)).toBeDefined();
  measureConfigStatus(metrics.registry, new ConfigStatus());
  expect(new ShutdownMetrics(metrics.registry)).toBeDefined();
  const autonomy = {
    registry: metrics.registry,
    events: () => noEvents,
    keptPods: () => 0,
    clock: { monotonic: () => 0 },
    log: silentLogger,
  };
  expect(new AutonomyReport(autonomy)).toBeDefined();
  processMetrics(metrics.registry, fakeStatsEdge.own);
  const loopDelay = {
    start: () => undefined,
    stop: () => undefined,
    watch: () => undefined,
    maxSinceMs: () => 0,
  };
  loopDelayMetrics(metrics.registry, loopDelay, { monotonic: () => 0 });
  expect(new DiskMetrics(metrics.registry)).toBeDefined();
  expect(new FeedMetrics(metrics.registry)).toBeDefined();
  const certificate = {
    ttlSeconds: () => 0,
    renewed: new Channel<number | undefined>(),
    failed: new Channel<void>(),
  };
  measureClientCertificate(metrics.registry, certificate);
  measureServingCertificate(metrics.registry, certificate);
  measureCertificateStates({
    registry: metrics.registry,
    desired: { all: () => [] },
    credentials: { get: () => undefined },
    clock: { now: () => 0 },
  });
  podCountMetrics({
    registry: metrics.registry,
    desired: { all: () => [] },
    observed: { all: () => new Map() },
    lifecycles: { all: () => new Map() },
  });
  nodeInfoMetrics(metrics.registry, {
    cgroupVersion: 2,
    runtimeReportsConfig: true,
    build: buildInfo({ version: 'v1', major: 1, minor: 34, architecture: 'amd64', nodeVersion: 'v20' }),
  });

  /** Rows by the path of their section: name, type, labels. */
  const sections = new Map(
    read('docs/metrics.md')
      .split(/^## /m)
      .slice(1)
      .map((section) => [
        /^`(\S+)`/.exec(section)?.[1] ?? '',
        [...section.matchAll(/^\| `(\w+)` \| (\w+) \| ([^|]*)\|/gm)].map(([, name, type, labels = '']) => ({
          name,
          type,
          labels: (labels.match(/\w+/g) ?? []).toSorted(),
        })),
      ]),
  );
  const described = (all: ReturnType<typeof metrics.registry.describe>) =>
    all.map(({ labels, name, type }) => ({ name, type, labels: labels.toSorted() }));
  const byName = (a: { name?: string | undefined }, b: { name?: string | undefined }): number =>
    (a.name ?? '') < (b.name ?? '') ? -1 : 1;

  test.each([
    ['/metrics', () => metrics.registry.describe()],
    ['/metrics/probes', () => new ProbeMetrics().describe()],
    ['/metrics/slis', () => new HealthSlis().describe()],
  ])('lists exactly the metrics of %s, with their types and labels', (path, all) =>
    expect(sections.get(path)).toEqual(described(all())),
  );
  test.each([
    ['/metrics/resource', resourceFamilies],
    ['/metrics/cadvisor', cadvisorFamilies],
  ])('lists exactly the metrics of %s, with their types', (path, all) =>
    expect(sections.get(path)?.map(({ name, type }) => ({ name, type }))).toEqual(
      all.map(({ name, type }) => ({ name, type })).toSorted(byName),
    ),
  );

  const missing = read('docs/metrics.md').split('\n## Missing metrics\n')[1] ?? '';
  const missingPrefixes = [...missing.matchAll(/`(\w+)`/g)].map(([, prefix = '']) => prefix);
  const isMissing = (name: string): boolean =>
    missingPrefixes.some((prefix) => (prefix.endsWith('_') ? name.startsWith(prefix) : name === prefix));
  /** The labels of all series of the page, which its table leaves out. */
  const commonLabels = (path: string, name: string): readonly string[] => {
    if (path !== '/metrics/cadvisor' || name.endsWith('_scrape_error') || name.startsWith('cadvisor_'))
      return [];
    return name.startsWith('machine_')
      ? ['boot_id', 'machine_id', 'system_uuid']
      : ['container', 'id', 'image', 'name', 'namespace', 'pod'];
  };

  test.each(Object.entries(upstreamMetrics))('has every metric of %s that upstream serves', (path, list) => {
    const served = (sections.get(path) ?? []).map(({ labels, name = '', type }) =>
      `${name} ${type} ${[...labels, ...commonLabels(path, name)].toSorted().join(',')}`.trimEnd(),
    );
    const wanted = list.trim().split('\n');
    expect(wanted.filter((line) => !served.includes(line) && !isMissing(line.split(' ')[0] ?? ''))).toEqual(
      [],
    );
  });
  test('lists no metric as missing that is served', () => {
    const served = [...sections.values()].flat().map(({ name = '' }) => name);
    expect(served.filter((name) => name !== 'process_start_time_seconds' && isMissing(name))).toEqual([]);
  });
});

describe('docs/http-api.md', () => {
  const page =
    read('docs/http-api.md')
      .split('\n## ')
      .find((part) => part.startsWith('10250: paths')) ?? '';
  const rows = (routeTable as readonly RouteRow[]).flatMap((row) =>
    (row.patterns ?? ['']).map((pattern) => ({
      ...row,
      shown: `${row.path.replace(/\/$/, pattern === '' ? '/' : '')}${pattern}`,
    })),
  );
  test.each(rows)('documents $shown with its methods, permissions and settings', (row) => {
    const line = page.split('\n').find((each) => each.startsWith(`| \`${row.shown}\` |`)) ?? '';
    const [, , methods, rights, when] = line.split('|').map((cell) => cell.trim());
    expect(methods).toBe((row.methods ?? ['any']).join(', '));
    expect(rights).toBe(
      [row.fineSubresource, row.subresource].filter((each) => each !== undefined).join(', '),
    );
    expect(when?.startsWith(row.class === 'always' ? 'always' : 'debug')).toBe(true);
    expect(when).toContain(row.gate ?? '');
  });
  test('names no path that does not exist', () => {
    const documented = [...page.matchAll(/^\| `(\/[^`]*)` \| (?:any|GET|POST)/gm)].map(([, path]) => path);
    expect(new Set(documented)).toEqual(new Set(rows.map(({ shown }) => shown)));
  });
});

describe('links', () => {
  const pages = [
    ...readdirSync(root).filter((name) => name.endsWith('.md')),
    ...['docs', 'src', 'test', 'integration', 'bench', 'tools', 'examples']
      .flatMap(filesBelow)
      .filter((path) => path.endsWith('.md')),
  ];
  test.each(pages)('%s links to files that exist', (page) => {
    const targets = [...read(page).matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, target]) => target ?? '');
    const missing = targets.filter((target) => !existsSync(join(root, dirname(page), target)));
    expect(missing).toEqual([]);
  });

  const files = new Set(
    ['src', 'test', 'integration', 'bench', 'tools', 'docs', 'examples'].flatMap(filesBelow),
  );
  const fileNames = new Set([...files].map((path) => basename(path)));
  /** Decision records and the changelog are history. */
  const current = pages.filter((page) => !page.startsWith('docs/decisions/') && page !== 'CHANGELOG.md');
  test.each(current)('%s names modules that exist', (page) => {
    const named = [...read(page).matchAll(/`(\w[\w./-]*\.ts)`/g)].map(([, name = '']) => name);
    const missing = named.filter((name) =>
      name.includes('/')
        ? ![name, `src/${name}`, join(dirname(page), name)].some((path) => files.has(path))
        : !fileNames.has(name),
    );
    expect(missing.filter((name) => !name.includes('NAME'))).toEqual([]);
  });
});
