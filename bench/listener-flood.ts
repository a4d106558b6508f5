// Measures what unauthenticated clients cost the kubelet's ports: a server process with the real listeners, router and
// admission, a flooding process, and a client with a certificate. Prints for each kind of flood the longest event loop delay,
// the growth of RSS, the CPU time, and the requests of the certified client that were answered. No verdict.
//
//   node tools/run-ts.mjs bench/listener-flood.ts [shape …]
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { buildFlooder } from '../integration/support/start-flood.ts';
import { Channel } from '../src/base/channel.ts';
import { realClock } from '../src/base/clock.ts';
import { silentLogger } from '../src/base/log/log.ts';
import { Metrics } from '../src/base/metrics.ts';
import { defaultGates } from '../src/config/gates/feature-gates.ts';
import { listenHttp } from '../src/edge/http/listen-http.ts';
import { listenHttps } from '../src/edge/http/listen-https.ts';
import { LoopDelayMonitor } from '../src/edge/machine/loop-delay.ts';
import { AuthMetrics } from '../src/server/auth/auth-metrics.ts';
import { buildAdmission } from '../src/server/auth/build-admission.ts';
import { route } from '../src/server/router.ts';
import { type RouteHandlers, routesOf } from '../src/server/routes.ts';
import { readOnlyRoutes } from '../src/server/state-handlers.ts';
import { type KeyPair, TestAuthority } from '../test/api-server/pki.ts';
import { percentile, table } from './statistics.ts';

const floodSeconds = 4;
const maxServerMiB = 1_000;
const allShapes = [
  'idle-tcp',
  'half-open-tls',
  'tls-handshakes',
  'idle-h2',
  'h2-requests',
  'h2-rapid-reset',
  'h2-pings',
  'h2-settings',
  'h2-continuation',
  'h1-pipelined',
  'random-tokens',
  'slow-headers',
  'huge-headers',
  'plain-idle',
  'plain-requests',
  'plain-metrics',
  'plain-slow-headers',
];

interface Started {
  readonly port: number;
  readonly plainPort: number;
  readonly caPem: string;
  readonly admin: KeyPair;
}

async function serve(): Promise<void> {
  const authority = new TestAuthority();
  const pair = authority.issue({ commonName: 'node', hosts: ['127.0.0.1'], usage: 'server' });
  const admin = authority.issue({ commonName: 'admin', usage: 'client' });
  const body = JSON.stringify({ items: 'x'.repeat(200_000) });
  const answer = { status: 200, headers: { 'content-type': 'application/json' }, body };
  const handlers: RouteHandlers = {
    pods: () => answer,
    metrics: () => answer,
    health: () => ({ status: 200, headers: {}, body: 'ok' }),
  };
  const settings = {
    enableDebuggingHandlers: true,
    enableSystemLogHandler: true,
    enableProfilingHandler: false,
    enableDebugFlagsHandler: false,
    gates: defaultGates,
  };
  let reviews = 0;
  const admit = buildAdmission({
    config: {
      authentication: {
        x509: { clientCAFile: '/ca' },
        webhook: { enabled: true, cacheTTL: { ms: 120_000 } },
        anonymous: { enabled: false },
      },
      authorization: {
        mode: 'Webhook',
        webhook: { cacheAuthorizedTTL: { ms: 300_000 }, cacheUnauthorizedTTL: { ms: 30_000 } },
      },
    },
    api: {
      create: async <T>(path: string): Promise<T> => {
        reviews++;
        await sleep(5);
        const status = path.endsWith('tokenreviews') ? { authenticated: false } : { allowed: true };
        return { status } as T;
      },
    },
    nodeName: 'n',
    settings: { fineGrained: true, allowGetStreams: false, certificateUids: false },
    hashKey: Buffer.alloc(32),
    random: Math.random,
    metrics: new AuthMetrics(new Metrics(), realClock),
    clock: realClock,
    log: silentLogger,
  });
  const changed = new Channel<void>();
  const secure = await listenHttps({
    host: '127.0.0.1',
    port: 0,
    flag: '--port',
    handler: route(routesOf({ ...settings, port: 'secure' }, handlers), admit),
    certificate: { current: () => ({ certPem: pair.cert, keyPem: pair.key }), changed },
    clientAuthorities: { pem: () => authority.cert, changed },
    minVersion: 'TLSv1.2',
    ciphers: 'TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:ECDHE-ECDSA-AES128-GCM-SHA256',
  });
  const plain = await listenHttp({
    host: '127.0.0.1',
    port: 0,
    flag: '--read-only-port',
    handler: route(readOnlyRoutes(handlers)),
  });
  const delay = new LoopDelayMonitor(() => performance.now());
  delay.start();
  delay.watch(Number.POSITIVE_INFINITY);
  process.on('message', (sinceMs: number) => {
    process.send?.({
      nowMs: performance.now(),
      delayMs: delay.maxSinceMs(sinceMs),
      cpu: process.cpuUsage(),
      reviews,
    });
  });
  const started: Started = { port: secure.port, plainPort: plain.port, caPem: authority.cert, admin };
  process.send?.(started);
}

interface Figures {
  readonly nowMs: number;
  readonly delayMs: number;
  readonly cpu: NodeJS.CpuUsage;
  readonly reviews: number;
}

async function figures(server: ChildProcess, sinceMs: number): Promise<Figures> {
  server.send(sinceMs);
  const [result] = (await once(server, 'message')) as [Figures];
  return result;
}

function residentMiB(pid: number): number {
  try {
    return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

/** Milliseconds to the response on a new connection; undefined without a response. */
function requestAsAdmin({ admin, caPem, port }: Started): Promise<number | undefined> {
  const startedMs = performance.now();
  return new Promise((resolve) => {
    const outgoing = request(
      { host: '127.0.0.1', port, path: '/pods', agent: false, ca: caPem, cert: admin.cert, key: admin.key },
      (incoming) => {
        incoming.resume();
        incoming.once('end', () =>
          resolve(incoming.statusCode === 200 ? performance.now() - startedMs : undefined),
        );
      },
    );
    outgoing.setTimeout(10_000, () => outgoing.destroy());
    outgoing.once('error', () => resolve(undefined));
    outgoing.end();
  });
}

async function measure(shape: string, flooder: string): Promise<readonly string[]> {
  const server = fork(fileURLToPath(import.meta.url), ['--serve'], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  try {
    const [started] = (await once(server, 'message')) as [Started];
    for (let each = 0; each < 5; each++) await requestAsAdmin(started);
    const pid = server.pid ?? 0;
    const before = await figures(server, 0);
    const beforeMiB = residentMiB(pid);
    const port = shape.startsWith('plain') ? started.plainPort : started.port;
    const flood = spawn(process.execPath, [flooder, shape, String(port), String(floodSeconds)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    flood.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    const flooded = once(flood, 'close');
    const latencies: (number | undefined)[] = [];
    let peakMiB = beforeMiB;
    // A server that exhausts memory must not take the machine down.
    const watch = setInterval(() => {
      peakMiB = Math.max(peakMiB, residentMiB(pid));
      if (peakMiB > maxServerMiB) server.kill('SIGKILL');
    }, 20);
    const untilMs = performance.now() + floodSeconds * 1_000;
    while (performance.now() < untilMs) {
      latencies.push(await requestAsAdmin(started));
      await sleep(100);
    }
    await flooded;
    clearInterval(watch);
    if (server.exitCode !== null || server.signalCode !== null)
      return [shape, 'killed', `> ${maxServerMiB}`, '', '', '', '', '', output.trim()];
    const after = await figures(server, before.nowMs);
    const answered = latencies.filter((each) => each !== undefined);
    const cpuMs =
      (after.cpu.user + after.cpu.system - before.cpu.user - before.cpu.system) / 1_000 / floodSeconds;
    const counts = JSON.parse(output) as Record<string, number>;
    return [
      shape,
      after.delayMs.toFixed(0),
      (Math.max(peakMiB, residentMiB(pid)) - beforeMiB).toFixed(0),
      `${(cpuMs / 10).toFixed(0)} %`,
      `${answered.length}/${latencies.length}`,
      percentile(answered, 0.5).toFixed(0),
      Math.max(...answered).toFixed(0),
      String(after.reviews - before.reviews),
      `${counts['opened']} ${counts['secured']} ${counts['sent']}`,
    ];
  } finally {
    server.kill();
  }
}

async function main(wanted: readonly string[]): Promise<void> {
  const flooder = buildFlooder();
  const rows = [
    ['flood', 'delay ms', 'RSS +MiB', 'CPU', 'answered', 'p50 ms', 'max ms', 'reviews', 'opened TLS sent'],
  ];
  for (const shape of wanted) {
    const row = [...(await measure(shape, flooder))];
    process.stderr.write(`${row.join('\t')}\n`);
    rows.push(row);
  }
  process.stdout.write(`${table(rows)}\n`);
}

if (process.argv.includes('--serve')) await serve();
else await main(process.argv.length > 2 ? process.argv.slice(2) : allShapes);
