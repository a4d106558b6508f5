// Measures eviction for memory: from the moment at which available memory crosses the threshold to SIGTERM in the victim, and
// until the memory is available again. PEER_KUBELET names another kubelet binary to measure in turn with this one, once as it is
// and once with the kernel's notifications. And what the monitor costs: the kubelet's CPU usage when idle with 100 pods, with all
// thresholds and storage limits and with neither. Prints tables without a verdict.
//
//   node tools/run-ts.mjs bench/eviction.ts [--smoke]
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Kubelet } from '../integration/rig/kubelet.ts';
import { rigUnavailableReason } from '../integration/rig/prerequisites.ts';
import { type Rig, startRig } from '../integration/rig/rig.ts';
import { waitFor } from '../integration/rig/wait.ts';
import { type Cluster, startCluster } from '../integration/support/cluster.ts';
import type { Pod } from '../src/api/k8s/types.ts';
import { idleShare } from './kubelet-pods.ts';
import { availableBytes, MemoryCrossing, uptimeMs } from './memory-crossing.ts';
import { benchPod } from './pods.ts';
import { asRatio, inMs, median, table } from './statistics.ts';

interface Plan {
  readonly evictions: number;
  /** Before the victim starts, for a random part of the interval at which kubelets check. */
  readonly settleMs: number;
  readonly phaseMs: number;
  readonly idlePods: number;
  readonly idleRounds: number;
  readonly idleMs: number;
}

const full: Plan = {
  evictions: 5,
  settleMs: 5_000,
  phaseMs: 10_000,
  idlePods: 100,
  idleRounds: 2,
  idleMs: 60_000,
};
const smoke: Plan = { evictions: 1, settleMs: 500, phaseMs: 0, idlePods: 3, idleRounds: 1, idleMs: 2_000 };

const gibi = 1024 ** 3;
const marginBytes = gibi;
const eatenMebi = 1792;
const deadlineMs = 120_000;
const nodeName = 'bench';

interface Contender {
  readonly title: string;
  readonly command?: string;
  readonly config?: Readonly<Record<string, unknown>>;
  readonly noticedMs: number[];
  readonly recoveredMs: number[];
}

/** Holds memory until SIGTERM, notes when that came, and exits. */
function eater(name: string, image: string, outDir: string): Pod {
  const eat = `BEGIN { s = sprintf("%1048576s", "x"); for (i = 0; i < ${eatenMebi}; i++) a[i] = s i; system("sleep 2147483647") }`;
  const trap = `read up rest < /proc/uptime; echo $up > /out/.${name}; mv /out/.${name} /out/${name}; exit 0`;
  const script = `trap '${trap}' TERM; awk '${eat}' & while :; do wait; done`;
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

/** A kubelet that was started just now, with this configuration. */
async function startKubelet(
  rig: Rig,
  cluster: Cluster,
  config: Readonly<Record<string, unknown>>,
  command?: string,
): Promise<Kubelet> {
  // The API server double reads JSON only; a Go kubelet would send protobuf.
  const peer = command === undefined ? {} : { command };
  const kubelet = await rig.kubelet({
    name: command === undefined ? 'ours' : 'peer',
    nodeName,
    flags: [`--kubeconfig=${cluster.kubeconfig}`],
    ...peer,
    config: { contentType: 'application/json', ...config },
  });
  await cluster.untilNodeReady();
  return kubelet;
}

async function evictOnce(
  rig: Rig,
  cluster: Cluster,
  plan: Plan,
  each: Contender,
  name: string,
): Promise<void> {
  const outDir = join(rig.workspace.dir, 'out');
  mkdirSync(outDir, { recursive: true });
  const thresholdBytes = availableBytes() - marginBytes;
  const kubelet = await startKubelet(
    rig,
    cluster,
    {
      evictionHard: { 'memory.available': String(thresholdBytes) },
      evictionPressureTransitionPeriod: '1s',
      ...each.config,
    },
    each.command,
  );
  await sleep(plan.settleMs + Math.random() * plan.phaseMs);
  const memory = new MemoryCrossing(thresholdBytes);
  try {
    cluster.createPod(eater(name, rig.images.busybox, outDir));
    const out = join(outDir, name);
    await waitFor(() => existsSync(out), 'SIGTERM in the victim', deadlineMs);
    const termMs = uptimeMs(readFileSync(out, 'utf8'));
    await waitFor(() => memory.recoveredMs !== undefined, 'the memory to be available again', deadlineMs);
    // Not by the reason of the status, which upstream replaces if the containers exit with code 0.
    await cluster.untilPod(
      name,
      'to be evicted',
      ({ conditions }) => conditions?.some(({ type }) => type === 'DisruptionTarget') ?? false,
    );
    const crossedMs = memory.crossedMs ?? Number.NaN;
    each.noticedMs.push(termMs - crossedMs);
    each.recoveredMs.push((memory.recoveredMs ?? Number.NaN) - crossedMs);
    cluster.double.objects.delete('pods', 'default', name, { gracePeriodSeconds: 0 });
  } catch (err) {
    console.log(cluster.describeState(kubelet));
    throw err;
  } finally {
    memory.stop();
    await kubelet.stop();
    await rig.removeAllPods();
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
  return list.map((each) => ({ ...each, noticedMs: [], recoveredMs: [] }));
}

async function measureEvictions(rig: Rig, cluster: Cluster, plan: Plan): Promise<readonly Contender[]> {
  const all = contenders();
  for (let i = 0; i < plan.evictions; i++)
    for (const [at, each] of all.entries()) await evictOnce(rig, cluster, plan, each, `eater-${i}-${at}`);
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
}

/** With storage limits of both kinds. */
function limitedPod(name: string, image: string): Pod {
  const { metadata, spec } = benchPod(name, image);
  const [container] = spec?.containers ?? [];
  if (container === undefined) throw new Error('no container');
  return {
    metadata: { ...metadata },
    spec: {
      ...spec,
      volumes: [{ name: 'v', emptyDir: { sizeLimit: '64Mi' } }],
      containers: [
        {
          ...container,
          resources: { limits: { 'ephemeral-storage': '64Mi' } },
          volumeMounts: [{ name: 'v', mountPath: '/v' }],
        },
      ],
    },
  };
}

const watching: Readonly<Record<string, unknown>> = {};
const blind = { evictionHard: {}, localStorageCapacityIsolation: false };

/** The pods outlive the kubelets, which are measured in turn, each order as often. */
async function measureIdle(rig: Rig, cluster: Cluster, plan: Plan): Promise<void> {
  const names = Array.from({ length: plan.idlePods }, (_, i) => `idle-${i}`);
  for (const name of names) cluster.createPod(limitedPod(name, rig.images.busybox));
  const shares = new Map([watching, blind].map((config) => [config, [] as number[]]));
  for (let round = 0; round < plan.idleRounds; round++)
    for (const config of round % 2 === 0 ? [blind, watching] : [watching, blind]) {
      const kubelet = await startKubelet(rig, cluster, config);
      for (const name of names) await cluster.untilReady(name);
      await sleep(plan.idleMs / 4);
      shares.get(config)?.push(await idleShare(kubelet, plan.idleMs));
      await kubelet.stop();
    }
  const percent = (share: number): string => `${(share * 100).toFixed(2)} %`;
  const off = shares.get(blind) ?? [];
  const on = shares.get(watching) ?? [];
  const mean = (of: readonly number[]): number => of.reduce((sum, one) => sum + one, 0) / of.length;
  const row = (name: string, of: readonly number[]) => [name, percent(mean(of)), of.map(percent).join(', ')];
  console.log(
    table([
      [`CPU when idle, ${names.length} pods, ${plan.idleMs / 1000} s, of one core`, 'mean', 'rounds'],
      row('no thresholds, no storage limits', off),
      row('default thresholds, storage limits', on),
      ['difference', percent(mean(on) - mean(off)), 'target 0.10 %'],
    ]),
  );
}

async function main(plan: Plan): Promise<void> {
  const title = `${availableParallelism()} cores, load before ${(loadavg()[0] ?? 0).toFixed(1)}`;
  const rig = await startRig();
  const cluster = await startCluster(rig, nodeName);
  try {
    printEvictions(title, await measureEvictions(rig, cluster, plan));
    await measureIdle(rig, cluster, plan);
  } finally {
    await rig.stop();
    await cluster.stop();
  }
}

const why = rigUnavailableReason();
if (why === undefined) await main(process.argv.includes('--smoke') ? smoke : full);
else console.log(`bench skipped: ${why}`);
