// What scraping costs a kubelet with 20 pods of two containers: for each of the four paths that are scraped how long the answer
// takes, how large it is and how much the event loop's thread works for it; and how long the loop is kept from other work.
// Rounds are further apart than collections are shared. Prints a table and judges nothing.
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
const apartMs = 11_000;
const paths = ['/metrics/resource', '/stats/summary', '/metrics/cadvisor', '/metrics'];

interface Scrape {
  readonly ms: number;
  readonly loopMs: number;
  readonly bytes: number;
}

/** What the thread of the event loop has run. */
function loopNs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]);
}

async function scrape(kubelet: Kubelet, path: string): Promise<Scrape & { readonly text: string }> {
  const pid = kubelet.pid ?? 0;
  const beforeNs = loopNs(pid);
  const startedMs = performance.now();
  const response = await kubelet.get(kubelet.readOnlyPort, path);
  const text = await response.text();
  if (!response.ok) throw new Error(`${path} answered ${response.status}`);
  return {
    ms: performance.now() - startedMs,
    loopMs: (loopNs(pid) - beforeNs) / 1e6,
    bytes: text.length,
    text,
  };
}

async function measure(kubelet: Kubelet): Promise<void> {
  const found = new Map<string, Scrape[]>(paths.map((path) => [path, []]));
  const lags: number[] = [];
  const shared: number[] = [];
  await scrape(kubelet, '/metrics');
  for (let round = 0; round < rounds; round++) {
    await sleep(apartMs);
    for (const path of paths) {
      const { text, ...figures } = await scrape(kubelet, path);
      found.get(path)?.push(figures);
      if (path === '/metrics')
        lags.push(sampleOf(parsePrometheusText(text), 'nodejs_eventloop_lag_max_seconds').value * 1000);
    }
    for (const path of paths) shared.push((await scrape(kubelet, path)).loopMs);
  }
  const rows = [...found].map(([path, all]) => [
    path,
    median(all.map(({ ms }) => ms)).toFixed(1),
    median(all.map(({ loopMs }) => loopMs)).toFixed(1),
    String(Math.round(median(all.map(({ bytes }) => bytes)) / 1024)),
  ]);
  console.log(
    `${podCount} pods, ${podCount * 2} containers, ${rounds} rounds, load ${loadavg()[0]?.toFixed(1)}`,
  );
  console.log(table([['path', 'answer ms', 'loop ms', 'KiB'], ...rows]));
  console.log(
    `all four again within 10 s: ${(4 * median(shared)).toFixed(1)} ms of the loop; longest delay of the loop in a round: ${median(lags).toFixed(1)} ms`,
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
