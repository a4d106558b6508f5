// Measures the start of a static pod, from its manifest to its running container, against the floor: the runtime's own time
// for the same pod. Both run in turn on the same containerd, so that other load affects both. Prints a table without a
// verdict.
//
//   node tools/run-ts.mjs bench/pod-start.ts [--smoke]
import { availableParallelism, loadavg } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import type { Kubelet } from '../integration/rig/kubelet.ts';
import { rigUnavailableReason } from '../integration/rig/prerequisites.ts';
import { type Rig, startRig } from '../integration/rig/rig.ts';
import { boundedParallel, startFloorPods } from './floor.ts';
import { idleShare, startKubeletPods, timeUntilReported } from './kubelet-pods.ts';
import { asRatio, inMs, median, percentile, table } from './statistics.ts';

interface Plan {
  readonly singles: number;
  readonly reported: number;
  readonly bursts: number;
  readonly burstSize: number;
  readonly idleMs: number;
}

const full: Plan = { singles: 15, reported: 5, bursts: 9, burstSize: 20, idleMs: 30_000 };
const smoke: Plan = { singles: 1, reported: 1, bursts: 1, burstSize: 3, idleMs: 2000 };

/** Time for a resumed kubelet to catch up. */
const wakeMs = 500;
/** Time for the status updates of the started pods. */
const settleMs = 1000;

interface Burst {
  readonly allMs: number;
  readonly medianMs: number;
}

interface Results {
  readonly singles: { readonly floor: number[]; readonly kubelet: number[]; readonly reported: number[] };
  /** The floor of a burst: all requests at once, and bounded as in the kubelet. */
  readonly bursts: { readonly atOnce: Burst[]; readonly bounded: Burst[]; readonly kubelet: Burst[] };
  readonly cpuMsPerPod: number[];
  rssBytes: number;
  idle: number;
}

function names(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}-${i}`);
}

function burstOf(startMs: readonly number[]): Burst {
  return { allMs: Math.max(...startMs), medianMs: median(startMs) };
}

/**
 * The start times of the floor's pods. The kubelet is stopped (SIGSTOP) meanwhile: it would kill the pods as orphans, and
 * its CPU time would count against the floor.
 */
async function measureFloor(
  rig: Rig,
  kubelet: Kubelet,
  podNames: readonly string[],
  parallel: number,
): Promise<readonly number[]> {
  kubelet.pause();
  const floor = await startFloorPods(rig, podNames, parallel);
  await floor.remove();
  kubelet.resume();
  await setTimeout(wakeMs);
  return floor.startMs;
}

async function measureSingles(rig: Rig, kubelet: Kubelet, plan: Plan, results: Results): Promise<void> {
  for (let i = 0; i < plan.singles; i++) {
    results.singles.floor.push(...(await measureFloor(rig, kubelet, names(`floor-single-${i}`, 1), 1)));
    const ours = await startKubeletPods(rig, kubelet, names(`single-${i}`, 1));
    results.singles.kubelet.push(...ours.startMs);
    await ours.remove();
  }
  for (const name of names('reported', plan.reported))
    results.singles.reported.push(await timeUntilReported(rig, kubelet, name));
}

async function measureBursts(rig: Rig, kubelet: Kubelet, plan: Plan, results: Results): Promise<void> {
  const { burstSize, bursts } = plan;
  const floor = async (i: number, parallel: number): Promise<Burst> =>
    burstOf(await measureFloor(rig, kubelet, names(`floor-burst-${i}-${parallel}`, burstSize), parallel));
  const turns = [
    async (i: number) => void results.bursts.atOnce.push(await floor(i, burstSize)),
    async (i: number) => void results.bursts.bounded.push(await floor(i, boundedParallel)),
    async (i: number) => {
      const ours = await startKubeletPods(rig, kubelet, names(`burst-${i}`, burstSize));
      results.bursts.kubelet.push(burstOf(ours.startMs));
      await setTimeout(settleMs);
      results.cpuMsPerPod.push(ours.cpuMs() / burstSize);
      if (i === bursts - 1) {
        results.idle = await idleShare(kubelet, plan.idleMs);
        results.rssBytes = kubelet.usage().rssBytes;
      }
      await ours.remove();
    },
  ];
  // The order rotates, because the first in a round finds a quieter machine.
  for (let i = 0; i < bursts; i++) {
    for (let turn = 0; turn < turns.length; turn++) await turns[(turn + i) % turns.length]?.(i);
  }
}

/** Includes the load: a ratio from a busy machine is less reliable. */
function machineLine(): string {
  return `pod start, ${availableParallelism()} cores, load before ${(loadavg()[0] ?? 0).toFixed(1)}`;
}

function print(title: string, plan: Plan, results: Results): void {
  const { singles, bursts } = results;
  const allOf = (list: readonly Burst[]): number => median(list.map((one) => one.allMs));
  const medianOf = (list: readonly Burst[]): number => median(list.map((one) => one.medianMs));
  const row = (name: string, floor: number, ours: number, target = ''): readonly string[] => [
    name,
    inMs(floor),
    inMs(ours),
    asRatio(ours / floor),
    target,
  ];
  // The faster of the two is the floor.
  const floorAll = Math.min(allOf(bursts.atOnce), allOf(bursts.bounded));
  const size = plan.burstSize;
  console.log(
    table([
      [title, 'floor', 'kubelet', 'ratio', 'target'],
      row('1 pod, p50', median(singles.floor), median(singles.kubelet), '1.15'),
      row('1 pod, p99', percentile(singles.floor, 0.99), percentile(singles.kubelet, 0.99)),
      row('1 pod, until /pods reports Running, p50', median(singles.floor), median(singles.reported)),
      row(`${size} at once, all running`, floorAll, allOf(bursts.kubelet), '1.10'),
      row(`${size} at once, median pod against the whole floor`, floorAll, medianOf(bursts.kubelet), '0.65'),
      [`${size} at once, floor with unbounded requests`, inMs(allOf(bursts.atOnce))],
      [`${size} at once, floor with ${boundedParallel} requests in parallel`, inMs(allOf(bursts.bounded))],
      ['kubelet CPU per pod', '', `${median(results.cpuMsPerPod).toFixed(1)} ms`],
      [
        `kubelet RSS with ${size} pods`,
        '',
        `${(results.rssBytes / 1024 / 1024).toFixed(0)} MiB`,
        '',
        '90 MiB',
      ],
      [`kubelet CPU, idle with ${size} pods`, '', `${(results.idle * 100).toFixed(2)} %`, '', '1 %'],
    ]),
  );
}

async function main(plan: Plan): Promise<void> {
  const results: Results = {
    singles: { floor: [], kubelet: [], reported: [] },
    bursts: { atOnce: [], bounded: [], kubelet: [] },
    cpuMsPerPod: [],
    rssBytes: 0,
    idle: 0,
  };
  const title = machineLine();
  const rig = await startRig();
  try {
    const kubelet = await rig.kubelet();
    // The first pod of a containerd and of a kubelet is slower than all others and is not counted.
    await measureFloor(rig, kubelet, ['floor-warm'], 1);
    await (await startKubeletPods(rig, kubelet, ['warm'])).remove();
    await measureSingles(rig, kubelet, plan, results);
    await measureBursts(rig, kubelet, plan, results);
  } finally {
    await rig.stop();
  }
  print(title, plan, results);
}

const why = rigUnavailableReason();
if (why === undefined) await main(process.argv.includes('--smoke') ? smoke : full);
else console.log(`bench skipped: ${why}`);
