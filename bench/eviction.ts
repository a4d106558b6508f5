// Measures eviction for memory: from the moment at which available memory crosses the threshold to SIGTERM in the victim, and
// until the memory is available again. PEER_KUBELET names another kubelet binary to measure in turn with this one, once as it is
// and once with the kernel's notifications. And what the monitor costs: the kubelet's CPU usage when idle with 100 pods, with all
// thresholds and storage limits and with neither. Prints tables without a verdict.
//
//   node tools/run-ts.mjs bench/eviction.ts [--smoke] [--evictions=5] [--no-idle]
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { rigUnavailableReason } from '../integration/rig/prerequisites.ts';
import { type Rig, startRig } from '../integration/rig/rig.ts';
import { waitFor } from '../integration/rig/wait.ts';
import { type Cluster, startCluster } from '../integration/support/cluster.ts';
import type { Pod } from '../src/api/k8s/types.ts';
import { benchNode, type IdlePlan, measureIdle, startBenchKubelet } from './eviction-idle.ts';
import { availableBytes, MemoryCrossing, uptimeMs } from './memory-crossing.ts';
import { asRatio, inMs, median, table } from './statistics.ts';

interface Plan {
  readonly evictions: number;
  /** Before the victim starts, for a random part of the interval at which kubelets check. */
  readonly settleMs: number;
  readonly phaseMs: number;
  readonly idle: IdlePlan;
}

const evictionsGiven = process.argv.find((one) => one.startsWith('--evictions='))?.split('=')[1];
const full: Plan = {
  evictions: Number(evictionsGiven ?? 5),
  settleMs: 5_000,
  phaseMs: 10_000,
  idle: { pods: 100, rounds: 2, ms: 60_000 },
};
const smoke: Plan = { evictions: 1, settleMs: 500, phaseMs: 0, idle: { pods: 3, rounds: 1, ms: 2_000 } };

const gibi = 1024 ** 3;
const marginBytes = 2 * gibi;
const eatenMebi = 3072;
const deadlineMs = 60_000;
/** Of one eviction, if other programs moved memory by more than the margin meanwhile. */
const attempts = 4;

interface Contender {
  readonly title: string;
  readonly command?: string;
  readonly config?: Readonly<Record<string, unknown>>;
  readonly noticedMs: number[];
  readonly recoveredMs: number[];
  /** Evictions that did not come before the deadline. */
  readonly missed: string[];
  /** Evictions that were repeated because of other programs. */
  readonly disturbed: string[];
}

/** Holds memory until SIGTERM, notes when that came, and exits. */
function eater(name: string, image: string, outDir: string): Pod {
  const eat = `BEGIN { s = sprintf("%1048576s", "x"); for (i = 0; i < ${eatenMebi}; i++) a[i] = s i; system("sleep 2147483647") }`;
  const trap = `read up rest < /proc/uptime; echo $up > /out/.${name}; mv /out/.${name} /out/${name}; exit 0`;
  const begin = `read up rest < /proc/uptime; echo $up > /out/${name}.begin`;
  const script = `trap '${trap}' TERM; ${begin}; awk '${eat}' & while :; do wait; done`;
  const container = { name: 'main', image, imagePullPolicy: 'IfNotPresent' as const };
  return {
    metadata: { name, namespace: 'default' },
    spec: {
      restartPolicy: 'Never',
      volumes: [{ name: 'out', hostPath: { path: outDir } }],
      containers: [
        {
          ...container,
          command: ['sh', '-c', script],
          // Not BestEffort, so that it is admitted while the condition of the eviction before lasts.
          resources: { requests: { memory: '1Mi' } },
          volumeMounts: [{ name: 'out', mountPath: '/out' }],
        },
      ],
    },
  };
}

interface Eviction {
  readonly noticedMs: number;
  readonly recoveredMs: number;
}

/** Memory did not run short because of the victim, so that the kubelet was not measured. */
class Disturbed extends Error {}

/** Waits for SIGTERM in the victim. Undefined if the kubelet missed that the victim took the memory. */
async function measureVictim(
  cluster: Cluster,
  pod: Pod,
  outDir: string,
  thresholdBytes: number,
): Promise<Eviction | undefined> {
  const name = pod.metadata?.name ?? '';
  const timeOf = (file: string): number => {
    const path = join(outDir, file);
    return existsSync(path) ? uptimeMs(readFileSync(path, 'utf8')) : Number.NaN;
  };
  const memory = new MemoryCrossing(thresholdBytes);
  try {
    cluster.createPod(pod);
    const terminated = (): boolean => existsSync(join(outDir, name));
    await waitFor(terminated, 'SIGTERM in the victim', deadlineMs).catch(() => undefined);
    const { crossedMs = Number.NaN } = memory;
    // Only what was seen independently of the kubelet excuses it.
    if (!(crossedMs >= timeOf(`${name}.begin`)))
      throw new Disturbed(
        `at least ${Math.round((memory.leastBytes - thresholdBytes) / 1024 ** 2)} MiB above the threshold, or below it too early`,
      );
    if (!terminated()) {
      if (memory.recoveredMs !== undefined) throw new Disturbed('below the threshold only for a while');
      return undefined;
    }
    await waitFor(() => memory.recoveredMs !== undefined, 'the memory to be available again', deadlineMs);
    return {
      noticedMs: timeOf(name) - crossedMs,
      recoveredMs: (memory.recoveredMs ?? Number.NaN) - crossedMs,
    };
  } finally {
    memory.stop();
  }
}

async function evictOnce(
  rig: Rig,
  cluster: Cluster,
  plan: Plan,
  each: Contender,
  name: string,
): Promise<Eviction | undefined> {
  const outDir = join(rig.workspace.dir, 'out');
  mkdirSync(outDir, { recursive: true });
  const thresholdBytes = availableBytes() - marginBytes;
  const config = {
    evictionHard: { 'memory.available': String(thresholdBytes) },
    evictionPressureTransitionPeriod: '1s',
    ...each.config,
  };
  const kubelet = await startBenchKubelet(rig, cluster, config, each.command);
  try {
    await sleep(plan.settleMs + Math.random() * plan.phaseMs);
    return await measureVictim(cluster, eater(name, rig.images.busybox, outDir), outDir, thresholdBytes);
  } finally {
    await kubelet.stop();
    await rig.removeAllPods();
    if (cluster.pod(name) !== undefined)
      cluster.double.objects.delete('pods', 'default', name, { gracePeriodSeconds: 0 });
  }
}

async function evictWithRetries(
  rig: Rig,
  cluster: Cluster,
  plan: Plan,
  each: Contender,
  name: string,
): Promise<void> {
  for (let attempt = 1; ; attempt++)
    try {
      const eviction = await evictOnce(rig, cluster, plan, each, `${name}-${attempt}`);
      if (eviction === undefined) each.missed.push(name);
      else {
        each.noticedMs.push(eviction.noticedMs);
        each.recoveredMs.push(eviction.recoveredMs);
      }
      const { noticedMs, recoveredMs } = eviction ?? { noticedMs: Number.NaN, recoveredMs: Number.NaN };
      console.error(`${name}, ${each.title}: ${inMs(noticedMs)}, ${inMs(recoveredMs)}`);
      return;
    } catch (err) {
      if (!(err instanceof Disturbed) || attempt === attempts) throw err;
      each.disturbed.push(name);
      console.error(`${name}, ${each.title}: repeated, ${err.message}`);
    }
}

function contenders(): readonly Contender[] {
  const peer = process.env['PEER_KUBELET'];
  const notified = { kernelMemcgNotification: true };
  const list = [
    { title: 'this kubelet' },
    ...(peer === undefined
      ? []
      : [
          { title: 'peer', command: peer },
          { title: 'peer, kernelMemcgNotification', command: peer, config: notified },
        ]),
  ];
  return list.map((each) => ({ ...each, noticedMs: [], recoveredMs: [], missed: [], disturbed: [] }));
}

async function measureEvictions(rig: Rig, cluster: Cluster, plan: Plan): Promise<readonly Contender[]> {
  const all = contenders();
  for (let i = 0; i < plan.evictions; i++)
    for (const [at, each] of all.entries())
      await evictWithRetries(rig, cluster, plan, each, `eater-${i}-${at}`);
  return all;
}

function printEvictions(title: string, all: readonly Contender[]): void {
  const spread = (ms: readonly number[]): string => `${inMs(Math.min(...ms))} – ${inMs(Math.max(...ms))}`;
  const row = (name: string, ms: readonly number[], ours: readonly number[]): readonly string[] => [
    name,
    inMs(median(ms)),
    spread(ms),
    asRatio(median(ms) / median(ours)),
  ];
  const [ours] = all;
  console.log(
    table([
      [`threshold crossed until …, ${title}`, 'median', 'spread', 'ratio to ours', 'target'],
      ...all.flatMap((each) => [
        [
          ...row(`${each.title}: SIGTERM`, each.noticedMs, ours?.noticedMs ?? []),
          ...(each === ours ? ['1000 ms'] : []),
        ],
        row(`${each.title}: memory available`, each.recoveredMs, ours?.recoveredMs ?? []),
      ]),
    ]),
  );
  for (const { disturbed, missed, title: who } of all)
    console.log(`${who}: ${missed.length} missed, ${disturbed.length} disturbed and repeated`);
}

async function main(plan: Plan): Promise<void> {
  const title = `${availableParallelism()} cores, load before ${(loadavg()[0] ?? 0).toFixed(1)}`;
  const rig = await startRig();
  const cluster = await startCluster(rig, benchNode);
  try {
    printEvictions(title, await measureEvictions(rig, cluster, plan));
    if (!process.argv.includes('--no-idle')) await measureIdle(rig, cluster, plan.idle);
  } finally {
    await rig.stop();
    await cluster.stop();
  }
}

const why = rigUnavailableReason();
if (why === undefined) await main(process.argv.includes('--smoke') ? smoke : full);
else console.log(`bench skipped: ${why}`);
