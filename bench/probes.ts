// Measures what 500 probes with a period of 10 s cost the kubelet: CPU and event loop delay. The probes, their edges and the
// CRI client are real; the probed servers and the runtime are a separate process, so that only the kubelet's share is
// measured. Prints a table without a verdict.
//
//   node tools/run-ts.mjs bench/probes.ts [--smoke]
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Container, Pod, Probe } from '../src/api/k8s/types.ts';
import type { ObservedPod } from '../src/api/pod/observed.ts';
import type { PodLifecycle } from '../src/api/pod/pod-lifecycle.ts';
import { asContainerId, asPodUid, type PodUid } from '../src/api/pod/pod-ref.ts';
import { noEvents } from '../src/api/ports/events.ts';
import { assembleProbes } from '../src/assemble/probes.ts';
import { Channel } from '../src/base/channel.ts';
import { realClock } from '../src/base/clock.ts';
import { startComponent } from '../src/base/component.ts';
import { Verbosity } from '../src/base/log/log.ts';
import { textLogger } from '../src/base/log/log-text.ts';
import { criClient } from '../src/edge/cri/client.ts';
import { probeEdges } from '../src/edge/probe/probe-edges.ts';
import { resultFile } from '../src/edge/probe/result-file.ts';
import { ProbeResults } from '../src/probes/probe-results.ts';
import { aContainer, anObservedContainer, anObservedPod, aPod } from '../test/builders/builders.ts';
import { serveCri } from '../test/fake-cri/serve.ts';
import { table } from './statistics.ts';

const probeCount = 500;
const periodSeconds = 10;
const seconds = process.argv.includes('--smoke') ? 12 : 60;

interface Ports {
  readonly http: number;
  readonly tcp: number;
}

/** The separate process: an HTTP server, a TCP server and a runtime whose commands all succeed. */
async function serve(socket: string): Promise<void> {
  const http = createServer((_request, response) => response.end('ok\n')).listen(0, '127.0.0.1');
  const tcp = createTcpServer((one) => one.on('error', () => undefined).resume()).listen(0, '127.0.0.1');
  await Promise.all([once(http, 'listening'), once(tcp, 'listening')]);
  const empty = Buffer.alloc(0);
  await serveCri({
    path: socket,
    parts: { execSync: async () => ({ stdout: empty, stderr: empty, exitCode: 0 }) },
  });
  const ports = [http, tcp].map((server) => (server.address() as AddressInfo).port);
  console.log(JSON.stringify({ http: ports[0], tcp: ports[1] }));
}

class Store<T> {
  readonly changed = new Channel<PodUid>();
  readonly values = new Map<PodUid, T>();
  get(uid: PodUid): T | undefined {
    return this.values.get(uid);
  }
  all(): readonly { readonly uid: PodUid }[] {
    return [...this.values.keys()].map((uid) => ({ uid }));
  }
}

const timing = { periodSeconds, timeoutSeconds: 5 };

/** Four of ten by HTTP, three by TCP, three by exec. */
function probeOf(index: number, ports: Ports): Probe {
  const host = '127.0.0.1';
  const turn = index % 10;
  if (turn < 4) return { httpGet: { host, port: ports.http, path: '/healthz' }, ...timing };
  if (turn < 7) return { tcpSocket: { host, port: ports.tcp }, ...timing };
  return { exec: { command: ['cat', '/tmp/ok'] }, ...timing };
}

/** A running pod with a liveness and a readiness probe. */
function podOf(index: number, ports: Ports): { readonly pod: Pod; readonly seen: ObservedPod } {
  const container: Container = aContainer({
    livenessProbe: probeOf(2 * index, ports),
    readinessProbe: probeOf(2 * index + 1, ports),
  });
  const id = asContainerId(`c${index}`);
  return {
    pod: aPod({ name: `p${index}`, containers: [container] }),
    seen: anObservedPod({ containers: [anObservedContainer({ id, startedAtMs: 1 })] }),
  };
}

interface Measured {
  readonly cpuShare: number;
  readonly delay: { readonly p50: number; readonly p99: number; readonly max: number };
}

async function measure(forMs: number): Promise<Measured> {
  const loop = monitorEventLoopDelay({ resolution: 1 });
  const from = process.cpuUsage();
  const startedMs = performance.now();
  loop.enable();
  await sleep(forMs);
  loop.disable();
  const { user, system } = process.cpuUsage(from);
  const ms = (nanos: number): number => nanos / 1e6;
  return {
    cpuShare: (user + system) / 1_000 / (performance.now() - startedMs),
    delay: { p50: ms(loop.percentile(50)), p99: ms(loop.percentile(99)), max: ms(loop.max) },
  };
}

function row(name: string, { cpuShare, delay }: Measured): readonly string[] {
  const ms = (value: number): string => `${value.toFixed(2)} ms`;
  return [name, `${(cpuShare * 100).toFixed(2)} %`, ms(delay.p50), ms(delay.p99), ms(delay.max)];
}

function startServers(socket: string): ChildProcess {
  return spawn(process.execPath, [process.argv[1] ?? '', '--serve', socket], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/** Open handles of the kinds that probes use, sorted. */
function openHandles(): string {
  const types = process.getActiveResourcesInfo().filter((type) => /TCPSocket|Pipe|Timeout/.test(type));
  return types.toSorted().join(', ');
}

async function main(dir: string): Promise<void> {
  // The first line opens stdout, so that its handle counts in both lists.
  console.log(`${probeCount} probes for ${seconds} s`);
  const before = openHandles();
  const socket = join(dir, 'r.sock');
  const servers = startServers(socket);
  const [line] = (await once(createInterface({ input: servers.stdout ?? process.stdin }), 'line')) as [
    string,
  ];
  const ports = JSON.parse(line) as Ports;
  const clock = realClock;
  const log = textLogger({ write: () => undefined, clock, verbosity: new Verbosity(0), pid: process.pid });
  const cri = criClient({ runtimeEndpoint: `unix://${socket}`, clock });
  const desired = new Store<{ readonly pod: Pod }>();
  const observed = new Store<ObservedPod>();
  const lifecycles = new Store<PodLifecycle>();
  const results = new ProbeResults();
  const { metrics, probes } = assembleProbes({
    desired,
    observed,
    lifecycles,
    apiPods: { mirror: () => undefined, mirrorChanged: new Channel() },
    results,
    edges: {
      probes: probeEdges,
      probeResultFile: resultFile,
      loopDelay: { watch: () => undefined, maxSinceMs: () => 0 },
    },
    cri,
    events: noEvents,
    gates: { ExecProbeTimeout: true },
    rootDir: dir,
    nodeIps: () => ['127.0.0.1'],
    random: Math.random,
    clock,
    log,
  });
  const stop = new AbortController();
  const { stopped } = await startComponent(probes, stop.signal);
  const idle = await measure(5_000);
  for (let index = 0; index < probeCount / 2; index++) {
    const uid = asPodUid(`u${index}`);
    const { pod, seen } = podOf(index, ports);
    desired.values.set(uid, { pod });
    observed.values.set(uid, seen);
    observed.changed.push(uid);
  }
  const first = await measure(1_500);
  const steady = await measure(seconds * 1_000);
  const done = [...metrics.render().matchAll(/^prober_probe_total\{[^}]*result="(\w+)"[^}]*\} (\d+)$/gm)];
  const count = (result: string): number =>
    done.filter((each) => each[1] === result).reduce((sum, each) => sum + Number(each[2]), 0);
  stop.abort();
  await stopped;
  const machine = `${availableParallelism()} cores, load ${(loadavg()[0] ?? 0).toFixed(1)}`;
  console.log(
    table([
      [
        `${probes.size} probes every ${periodSeconds} s, ${machine}`,
        'CPU',
        'loop p50',
        'loop p99',
        'loop max',
      ],
      row('none', idle),
      row('first 1.5 s', first),
      row(`${seconds} s of probing`, steady),
    ]),
  );
  console.log(`${count('successful')} succeeded, ${count('failed')} failed`);
  cri.close();
  servers.kill();
  await once(servers, 'exit');
  // Handles closed just now are still listed in this turn of the event loop.
  await sleep(100);
  const after = openHandles();
  console.log(`open handles before: ${before || 'none'}; after: ${after || 'none'}`);
}

const at = process.argv.indexOf('--serve');
if (at >= 0) {
  await serve(process.argv[at + 1] ?? '');
} else {
  const dir = mkdtempSync(join(tmpdir(), 'bench-probes-'));
  try {
    await main(dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
