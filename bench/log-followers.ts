// Measures what 20 followers of the log of one container that writes 50 MB/s cost the kubelet's event loop: its delay with and
// without them, and their throughput. The handler, the files, the rotation every 10 MiB and the HTTP port are real; container
// and clients are separate processes, so that only the kubelet's share is measured. Prints a table without a verdict.
//
//   node tools/run-ts.mjs bench/log-followers.ts [--smoke]
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { Agent, get } from 'node:http';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { listenHttp } from '../src/edge/http/listen-http.ts';
import { LogNode } from '../test/simulate/log-node.ts';
import { asRatio, table } from './statistics.ts';

const followers = 20;
const bytesPerSecond = 50_000_000;
const rotateBytes = 10 * 1024 * 1024;
const keptFiles = 5;
const seconds = process.argv.includes('--smoke') ? 3 : 15;

/** Plays the container and rotates its log like the kubelet: rename, reopen, delete the oldest. */
async function writeLog(path: string): Promise<void> {
  const text = 'GET /api/v1/things/4711?verbose=true 200 1234 "Mozilla/5.0 (X11; Linux x86_64)" 0.004';
  const block = Buffer.from(`2024-01-01T00:00:01.123456789Z stdout F ${text}\n`.repeat(500));
  let fd = openSync(path, 'a');
  let inFile = 0;
  let rotations = 0;
  const startedMs = performance.now();
  for (let written = 0; ; ) {
    const due = ((performance.now() - startedMs) / 1_000) * bytesPerSecond;
    while (written < due) {
      writeSync(fd, block);
      written += block.length;
      inFile += block.length;
      if (inFile < rotateBytes) continue;
      renameSync(path, `${path}.20240101-${String(rotations++).padStart(6, '0')}`);
      closeSync(fd);
      fd = openSync(path, 'a');
      inFile = 0;
      const old = readdirSync(dirname(path)).filter((name) => name.startsWith(`${basename(path)}.`));
      for (const name of old.toSorted().slice(0, -(keptFiles - 1))) unlinkSync(join(dirname(path), name));
    }
    await sleep(5);
  }
}

/** Plays the clients: each reads as fast as it can; prints the bytes that each received. */
async function readLogs(port: number, count: number, forMs: number): Promise<void> {
  const agent = new Agent({ keepAlive: false });
  const receivedBytes = Array.from({ length: count }, () => 0);
  const requests = receivedBytes.map((_, index) => {
    const request = get({ port, agent, path: '/?follow=true&tailLines=0' }, (response) => {
      response.on('data', (chunk: Buffer) => {
        receivedBytes[index] = (receivedBytes[index] ?? 0) + chunk.length;
      });
    });
    return request.on('error', () => undefined);
  });
  await sleep(forMs);
  for (const request of requests) request.destroy();
  console.log(JSON.stringify(receivedBytes));
}

interface Measured {
  readonly cpuShare: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

async function measure(forMs: number): Promise<Measured> {
  const loop = monitorEventLoopDelay({ resolution: 1 });
  const from = process.cpuUsage();
  const startedMs = performance.now();
  loop.enable();
  await sleep(forMs);
  loop.disable();
  const { system, user } = process.cpuUsage(from);
  const ms = (nanos: number): number => nanos / 1e6;
  return {
    cpuShare: (user + system) / 1_000 / (performance.now() - startedMs),
    p50: ms(loop.percentile(50)),
    p99: ms(loop.percentile(99)),
    max: ms(loop.max),
  };
}

function row(name: string, { cpuShare, max, p50, p99 }: Measured, rate: string): readonly string[] {
  const ms = (value: number): string => `${value.toFixed(2)} ms`;
  return [name, rate, `${(cpuShare * 100).toFixed(0)} %`, ms(p50), ms(p99), ms(max)];
}

function startSelf(...args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [process.argv[1] ?? '', ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
}

async function withFollowers(
  port: number,
  count: number,
): Promise<{ measured: Measured; receivedBytes: readonly number[] }> {
  const clients = startSelf('--read', String(port), String(count), String((seconds + 1) * 1_000));
  const lines = createInterface({ input: clients.stdout ?? process.stdin });
  // Excludes the time to connect.
  await sleep(500);
  const measured = await measure(seconds * 1_000);
  const [line] = (await once(lines, 'line')) as [string];
  await once(clients, 'exit');
  return { measured, receivedBytes: JSON.parse(line) as number[] };
}

async function main(root: string): Promise<void> {
  const node = new LogNode(root);
  const server = await listenHttp({
    host: '127.0.0.1',
    port: 0,
    flag: '',
    handler: ({ query, signal }) => node.request(query.toString(), signal),
    onError: (err) => console.error(err),
  });
  const writer = startSelf('--write', node.path);
  await sleep(1_000);
  const none = await measure(seconds * 1_000);
  const one = await withFollowers(server.port, 1);
  const many = await withFollowers(server.port, followers);
  writer.kill();
  await once(writer, 'exit');
  await server.close();
  const rate = (receivedBytes: readonly number[]): string =>
    `${(receivedBytes.reduce((sum, each) => sum + each, 0) / 1e6 / (seconds + 1)).toFixed(0)} MB/s`;
  const machine = `${availableParallelism()} cores, load ${(loadavg()[0] ?? 0).toFixed(1)}`;
  console.log(
    table([
      [`a log of 50 MB/s, ${machine}`, 'read', 'CPU', 'loop p50', 'loop p99', 'loop max'],
      row('no followers', none, ''),
      row('1 follower', one.measured, rate(one.receivedBytes)),
      row(`${followers} followers`, many.measured, rate(many.receivedBytes)),
    ]),
  );
  console.log(`p99 with ${followers} followers relative to none: ${asRatio(many.measured.p99 / none.p99)}`);
  console.log(
    `slowest follower relative to the fastest: ${asRatio(Math.min(...many.receivedBytes) / Math.max(...many.receivedBytes))}`,
  );
}

const [mode, ...rest] = process.argv.slice(2);
if (mode === '--write') {
  await writeLog(rest[0] ?? '');
} else if (mode === '--read') {
  await readLogs(Number(rest[0]), Number(rest[1]), Number(rest[2]));
} else {
  const root = mkdtempSync(join(tmpdir(), 'bench-logs-'));
  try {
    await main(root);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}
