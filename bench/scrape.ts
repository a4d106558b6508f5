// Measures the cost of scraping a kubelet with 20 pods of two containers: response time, size and CPU time of the main thread
// for each of the four scraped paths, and the longest delay of the event loop. The interval between rounds exceeds the time
// for which collected stats are shared. Prints a table without a verdict.
//
//   node tools/run-ts.mjs bench/scrape.ts [--smoke]
import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Kubelet } from '../integration/rig/kubelet.ts';
import { rigUnavailableReason } from '../integration/rig/prerequisites.ts';
import { startRig } from '../integration/rig/rig.ts';
import { container, manifest } from '../integration/support/manifest.ts';
import { untilRunning } from '../integration/support/pod-state.ts';
import { parsePrometheusText, sampleOf } from '../test/clients/prometheus-text.ts';
import { median, table } from './statistics.ts';

const smoke = process.argv.includes('--smoke');
const podCount = smoke ? 2 : 20;
const rounds = smoke ? 1 : 5;
const roundIntervalMs = 11_000;
const paths = ['/metrics/resource', '/stats/summary', '/metrics/cadvisor', '/metrics'];

interface Scrape {
  readonly ms: number;
  readonly cpuMs: number;
  readonly bytes: number;
}

/** CPU time of the main thread. */
function mainThreadNs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]);
}

async function scrape(kubelet: Kubelet, path: string): Promise<Scrape & { readonly text: string }> {
  const pid = kubelet.pid ?? 0;
  const beforeNs = mainThreadNs(pid);
  const startedMs = performance.now();
  const response = await kubelet.get(kubelet.readOnlyPort, path);
  const text = await response.text();
  if (!response.ok) throw new Error(`GET ${path}: status ${response.status}`);
  return {
    ms: performance.now() - startedMs,
    cpuMs: (mainThreadNs(pid) - beforeNs) / 1e6,
    bytes: text.length,
    text,
  };
}

async function measure(kubelet: Kubelet): Promise<void> {
  const scrapes = new Map<string, Scrape[]>(paths.map((path) => [path, []]));
  const lags: number[] = [];
  const shared: number[] = [];
  await scrape(kubelet, '/metrics');
  for (let round = 0; round < rounds; round++) {
    await sleep(roundIntervalMs);
    for (const path of paths) {
      const { text, ...figures } = await scrape(kubelet, path);
      scrapes.get(path)?.push(figures);
      if (path === '/metrics')
        lags.push(sampleOf(parsePrometheusText(text), 'nodejs_eventloop_lag_max_seconds').value * 1000);
    }
    for (const path of paths) shared.push((await scrape(kubelet, path)).cpuMs);
  }
  const rows = [...scrapes].map(([path, all]) => [
    path,
    median(all.map(({ ms }) => ms)).toFixed(1),
    median(all.map(({ cpuMs }) => cpuMs)).toFixed(1),
    String(Math.round(median(all.map(({ bytes }) => bytes)) / 1024)),
  ]);
  console.log(
    `${podCount} pods, ${podCount * 2} containers, ${rounds} rounds, load ${loadavg()[0]?.toFixed(1)}`,
  );
  console.log(table([['path', 'response ms', 'main thread ms', 'KiB'], ...rows]));
  console.log(
    `all four again within 10 s: ${(4 * median(shared)).toFixed(1)} ms of the main thread; longest event loop delay in a round: ${median(lags).toFixed(1)} ms`,
  );
}

const why = rigUnavailableReason();
if (why !== undefined) throw new Error(why);
const rig = await startRig();
try {
  const kubelet = await rig.kubelet();
  const names = Array.from({ length: podCount }, (_, index) => `p${index}`);
  const containers = [container('one'), container('two')];
  for (const name of names) kubelet.writeManifest(name, manifest(name, { containers }));
  for (const name of names) await untilRunning(kubelet, name);
  await measure(kubelet);
} finally {
  await rig.stop();
}
