// Measures what the node's page costs the kubelet: CPU time of its main thread and event loop delay without a viewer, with 1 and
// with 50 viewers that receive every second, and again after the last one left, over real pods; and the compressed size of the page.
// Viewers connect over TLS from another process. Prints figures and ratios without a verdict.
//
//   node tools/run-ts.mjs bench/dashboard.ts [--smoke] [--pods=100]
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { ClientRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { brotliCompressSync } from 'node:zlib';
import type { Kubelet } from '../integration/rig/kubelet.ts';
import { rigUnavailableReason } from '../integration/rig/prerequisites.ts';
import { startRig } from '../integration/rig/rig.ts';
import { container, manifest } from '../integration/support/manifest.ts';
import { waitForStarts } from './pods.ts';
import { asRatio, median, table } from './statistics.ts';

const smoke = process.argv.includes('--smoke');
const podsArgument = process.argv.find((each) => each.startsWith('--pods='))?.slice('--pods='.length);
const podCount = Number(podsArgument ?? (smoke ? 3 : 100));
const windows = smoke ? 1 : 3;
const windowMs = smoke ? 3_000 : 15_000;
/** For the levels of a new connection, and for what the phase before left behind. */
const settleMs = smoke ? 1_000 : 6_000;
/** Pods are written in batches, so that a slow machine starts all of them. */
const batch = 20;
const pageDirectory = 'dist/kubelet/ui';

interface Phase {
  /** Of one core. */
  readonly cpuShare: number;
  readonly delayMs: number;
  readonly bytesPerSecond: number;
}

/** CPU time of the main thread. */
function mainThreadMs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
}

class BenchViewer {
  bytes = 0;
  readonly #request: ClientRequest;

  constructor(port: number) {
    const target = {
      host: '127.0.0.1',
      port,
      path: '/ui/api/stream',
      rejectUnauthorized: false,
      agent: false,
    };
    this.#request = httpsRequest(target, (response) => {
      if (response.statusCode !== 200) throw new Error(`the stream has the status ${response.statusCode}`);
      response.on('error', () => undefined);
      response.on('data', (chunk: Buffer) => {
        this.bytes += chunk.length;
      });
    });
    this.#request.on('error', () => undefined);
    this.#request.end();
  }

  close(): void {
    this.#request.destroy();
  }
}

async function figures(kubelet: Kubelet) {
  const response = await kubelet.get(kubelet.readOnlyPort, '/metrics');
  const lines = (await response.text()).split('\n');
  return (name: string): number =>
    Number(lines.find((line) => line.startsWith(`${name} `))?.slice(name.length));
}

async function phase(kubelet: Kubelet, viewerCount: number): Promise<Phase> {
  const pid = kubelet.pid ?? 0;
  const viewers = Array.from({ length: viewerCount }, () => new BenchViewer(kubelet.securePort));
  await sleep(settleMs);
  const shares: number[] = [];
  const delays: number[] = [];
  let bytes = 0;
  for (let window = 0; window < windows; window++) {
    // Begins the period whose delay the scrape at its end reports.
    await figures(kubelet);
    const received = (): number => viewers.reduce((sum, viewer) => sum + viewer.bytes, 0);
    const [beforeMs, beforeBytes, beganMs] = [mainThreadMs(pid), received(), performance.now()];
    await sleep(windowMs);
    shares.push((mainThreadMs(pid) - beforeMs) / (performance.now() - beganMs));
    bytes += received() - beforeBytes;
    delays.push((await figures(kubelet))('nodejs_eventloop_lag_p99_seconds') * 1000);
  }
  for (const viewer of viewers) viewer.close();
  const bytesPerSecond = (bytes * 1000) / (windows * windowMs * Math.max(viewerCount, 1));
  return { cpuShare: median(shares), delayMs: median(delays), bytesPerSecond };
}

async function measure(kubelet: Kubelet): Promise<void> {
  const rows = [
    ['no viewer', 0],
    ['1 viewer', 1],
    ['50 viewers', 50],
    ['after the last one left', 0],
  ] as const;
  const idle: number[] = [];
  const lines: string[][] = [];
  for (const [name, viewers] of rows) {
    const { bytesPerSecond, cpuShare, delayMs } = await phase(kubelet, viewers);
    if (viewers === 0) idle.push(cpuShare);
    lines.push([
      name,
      `${(cpuShare * 100).toFixed(2)} %`,
      `${((cpuShare - (idle[0] ?? 0)) * 100).toFixed(2)} %`,
      asRatio(cpuShare / (idle[0] ?? 1)),
      `${delayMs.toFixed(1)} ms`,
      `${(bytesPerSecond / 1024).toFixed(1)} KiB/s`,
    ]);
  }
  const load = loadavg()[0]?.toFixed(1);
  console.log(`${podCount} pods, ${windows} windows of ${windowMs / 1000} s, load ${load}`);
  const head = ['', 'CPU of a core', 'added', 'ratio', 'loop delay p99', 'per viewer'];
  console.log(table([head, ...lines]));
  const read = await figures(kubelet);
  const count = read('kubelet_dashboard_sample_duration_seconds_count');
  const ms = (read('kubelet_dashboard_sample_duration_seconds_sum') * 1000) / Math.max(count, 1);
  console.log(`one sampling of all pods: ${ms.toFixed(2)} ms, ${count} samplings`);
}

/** What a browser downloads, compressed as the build does. */
function printPage(): void {
  if (!existsSync(pageDirectory)) {
    console.log(`the page is not built: no ${pageDirectory}`);
    return;
  }
  const names = readdirSync(pageDirectory).filter((name) => /\.(?:html|css|js)$/.test(name));
  const kib = (chosen: readonly string[]): string => {
    const sizes = chosen.map((name) => brotliCompressSync(readFileSync(`${pageDirectory}/${name}`)).length);
    return `${(sizes.reduce((sum, size) => sum + size, 0) / 1024).toFixed(1)} KiB`;
  };
  const terminal = names.filter((name) => name.startsWith('terminal'));
  const page = names.filter((name) => !name.startsWith('terminal'));
  console.log(`page, compressed: ${kib(page)}; its terminal, on demand: ${kib(terminal)}`);
}

const why = rigUnavailableReason();
if (why !== undefined) throw new Error(why);
const rig = await startRig();
try {
  const kubelet = await rig.kubelet();
  const names = Array.from({ length: podCount }, (_, index) => `p${index}`);
  for (let from = 0; from < names.length; from += batch) {
    const some = names.slice(from, from + batch);
    for (const name of some) kubelet.writeManifest(name, manifest(name, { containers: [container('main')] }));
    await waitForStarts(
      rig,
      some.map((name) => `${name}-${kubelet.nodeName}`),
    );
  }
  await measure(kubelet);
  printPage();
} finally {
  await rig.stop();
}
