// Measures the start of a pod from its creation in the API to its Ready condition in the API, against the floor: the
// runtime's own time for the same pod. PEER_KUBELET names another kubelet binary to measure in turn with this one.
// Prints a table without a verdict.
//
//   node tools/run-ts.mjs bench/cluster-pod-start.ts [--smoke]
import { availableParallelism, loadavg } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import type { Kubelet } from '../integration/rig/kubelet.ts';
import { rigUnavailableReason } from '../integration/rig/prerequisites.ts';
import { type Rig, startRig } from '../integration/rig/rig.ts';
import { waitFor } from '../integration/rig/wait.ts';
import { type Cluster, isReady, startCluster } from '../integration/support/cluster.ts';
import type { Pod } from '../src/api/k8s/types.ts';
import { startFloorPods } from './floor.ts';
import { benchPod } from './pods.ts';
import { asRatio, inMs, median, percentile, table } from './statistics.ts';

interface Plan {
  readonly singles: number;
  readonly burstSize: number;
}

const full: Plan = { singles: 15, burstSize: 20 };
const smoke: Plan = { singles: 1, burstSize: 2 };

/** Time for resumed kubelets to catch up. */
const wakeMs = 1000;
const deadlineMs = 120_000;

/** One kubelet with its own API server double. */
interface Contender {
  readonly title: string;
  readonly kubelet: Kubelet;
  readonly cluster: Cluster;
  readonly singles: number[];
  burst: readonly number[];
}

async function contender(rig: Rig, title: string, name: string, command?: string): Promise<Contender> {
  const cluster = await startCluster(rig, name);
  const flags = [`--kubeconfig=${cluster.kubeconfig}`];
  // The API server double reads JSON only; a Go kubelet would send protobuf.
  const peer = command === undefined ? {} : { command, config: { contentType: 'application/json' } };
  const kubelet = await rig.kubelet({ name, nodeName: name, flags, ...peer });
  await cluster.untilNodeReady();
  return { title, kubelet, cluster, singles: [], burst: [] };
}

/** Milliseconds from creation to Ready, by the times at which the API server stores each. */
async function startPods(
  rig: Rig,
  { cluster, kubelet }: Contender,
  names: readonly string[],
): Promise<readonly number[]> {
  const { objects, store } = cluster.double;
  const readyMs = new Map<string, number>();
  const unsubscribe = store.subscribe(({ type, after }) => {
    const pod = after as Pod | undefined;
    const name = pod?.metadata?.name ?? '';
    if (type.plural === 'pods' && isReady(pod?.status) && !readyMs.has(name))
      readyMs.set(name, performance.now());
  });
  const createdMs = new Map<string, number>();
  for (const name of names) {
    const { metadata, spec } = benchPod(name, rig.images.busybox);
    createdMs.set(name, performance.now());
    objects.create('pods', {
      metadata: { ...metadata },
      spec: { containers: [], ...spec, nodeName: kubelet.nodeName },
    });
  }
  await waitFor(
    () => names.every((name) => readyMs.has(name)),
    `${names.length} pods to be ready`,
    deadlineMs,
  );
  unsubscribe();
  for (const name of names) objects.delete('pods', 'default', name, { gracePeriodSeconds: 1 });
  await waitFor(() => objects.list('pods').length === 0, `${names.length} pods to be removed`, deadlineMs);
  return names.map((name) => (readyMs.get(name) ?? Number.NaN) - (createdMs.get(name) ?? 0));
}

/** The kubelets are stopped (SIGSTOP) meanwhile: they would kill the pods as orphans. */
async function measureFloor(
  rig: Rig,
  contenders: readonly Contender[],
  names: readonly string[],
): Promise<readonly number[]> {
  for (const { kubelet } of contenders) kubelet.pause();
  const floor = await startFloorPods(rig, names, names.length);
  await floor.remove();
  for (const { kubelet } of contenders) kubelet.resume();
  await setTimeout(wakeMs);
  return floor.startMs;
}

/** Only one kubelet runs at a time: two on one runtime would kill each other's pods. */
async function measureAlone(
  rig: Rig,
  contenders: readonly Contender[],
  each: Contender,
  names: readonly string[],
): Promise<readonly number[]> {
  const others = contenders.filter((other) => other !== each);
  for (const { kubelet } of others) kubelet.pause();
  const ms = await startPods(rig, each, names);
  for (const { kubelet } of others) kubelet.resume();
  if (others.length > 0) await setTimeout(wakeMs);
  return ms;
}

function names(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}-${i}`);
}

function print(title: string, floor: readonly number[], contenders: readonly Contender[]): void {
  const row = (name: string, of: (samples: readonly number[]) => number, ours: readonly number[]) => [
    name,
    inMs(of(floor)),
    inMs(of(ours)),
    asRatio(of(ours) / of(floor)),
  ];
  const p99 = (samples: readonly number[]): number => percentile(samples, 0.99);
  console.log(
    table([
      [title, 'floor', 'until Ready', 'ratio', 'target'],
      ...contenders.flatMap((each) => [
        [...row(`${each.title}: 1 pod, p50`, median, each.singles), '1.30'],
        row(`${each.title}: 1 pod, p99`, p99, each.singles),
        [`${each.title}: ${each.burst.length} at once, all`, '', inMs(Math.max(...each.burst))],
        [`${each.title}: ${each.burst.length} at once, median`, '', inMs(median(each.burst))],
      ]),
    ]),
  );
}

async function main(plan: Plan): Promise<void> {
  const title = `create to Ready, ${availableParallelism()} cores, load before ${(loadavg()[0] ?? 0).toFixed(1)}`;
  const peer = process.env['PEER_KUBELET'];
  const rig = await startRig();
  const floor: number[] = [];
  const contenders: Contender[] = [];
  try {
    contenders.push(await contender(rig, 'this kubelet', 'ours'));
    if (peer !== undefined) contenders.push(await contender(rig, 'peer', 'peer', peer));
    await measureFloor(rig, contenders, ['floor-warm']);
    for (const each of contenders) await measureAlone(rig, contenders, each, ['warm']);
    for (let i = 0; i < plan.singles; i++) {
      floor.push(...(await measureFloor(rig, contenders, names(`floor-${i}`, 1))));
      for (const each of contenders)
        each.singles.push(...(await measureAlone(rig, contenders, each, names(`single-${i}`, 1))));
    }
    for (const each of contenders)
      each.burst = await measureAlone(rig, contenders, each, names('burst', plan.burstSize));
  } finally {
    await rig.stop();
    for (const { cluster } of contenders) await cluster.stop();
  }
  print(title, floor, contenders);
}

const why = rigUnavailableReason();
if (why === undefined) await main(process.argv.includes('--smoke') ? smoke : full);
else console.log(`bench skipped: ${why}`);
