// Runs thousands of short pods and gigabytes of logs through one kubelet and states what grew: the file system of the logs, which
// is small, the kubelet's files, memory and descriptors, and the pods of the runtime. Ends by itself, and with exit code 1 if the
// logs filled their file system, something was left behind or memory grew.
//
//   node tools/run-ts.mjs bench/soak.ts [--smoke] [--pods=2000] [--at-once=20] [--log-gb=20] [--writers=3]
//     [--log-fs-mib=1024] [--samples]
import { mkdirSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import type { Kubelet } from '../integration/rig/kubelet.ts';
import { rigUnavailableReason } from '../integration/rig/prerequisites.ts';
import { mustRun } from '../integration/rig/process.ts';
import { type Rig, startRig } from '../integration/rig/rig.ts';
import { waitFor } from '../integration/rig/wait.ts';
import { type Cluster, startCluster } from '../integration/support/cluster.ts';
import type { Pod } from '../src/api/k8s/types.ts';
import { leftovers, type SoakSample, SoakSamples } from './soak-samples.ts';
import { table } from './statistics.ts';

const smoke = process.argv.includes('--smoke');

function option(name: string, full: number, short: number): number {
  const given = process.argv.find((one) => one.startsWith(`--${name}=`))?.split('=')[1];
  return given === undefined ? (smoke ? short : full) : Number(given);
}

const plan = {
  pods: option('pods', 2_000, 40),
  atOnce: option('at-once', 20, 10),
  logBytes: option('log-gb', 20, 0.5) * 1e9,
  writers: option('writers', 3, 2),
  logFsBytes: option('log-fs-mib', 1_024, 256) * 1024 ** 2,
};

const mebi = 1024 ** 2;
const nodeName = 'soak';
const deadlineMs = 120_000;
const writerDeadlineMs = 45 * 60_000;
const maxGrowth = 1.1;
const growthSlackBytes = 8 * mebi;
/** A shorter soak is over before the kubelet's memory has settled. */
const minSamples = 60;

function podOf(name: string, image: string, script: string): Pod {
  return {
    metadata: { name, namespace: 'default' },
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 1,
      volumes: [{ name: 'v', emptyDir: {} }],
      containers: [
        {
          name: 'main',
          image,
          imagePullPolicy: 'IfNotPresent',
          command: ['sh', '-c', script],
          volumeMounts: [{ name: 'v', mountPath: '/v' }],
        },
      ],
    },
  };
}

/** As a Job and its controller: the pod is deleted once it has completed. */
async function runToCompletion(cluster: Cluster, pod: Pod, timeoutMs: number): Promise<void> {
  const name = pod.metadata?.name ?? '';
  const { objects } = cluster.double;
  cluster.createPod(pod);
  const everyMs = 100;
  const phase = (): string => cluster.pod(name)?.status?.phase ?? '';
  await waitFor(() => /Succeeded|Failed/.test(phase()), `${name} to complete`, { timeoutMs, everyMs });
  if (phase() !== 'Succeeded') throw new Error(`${name} is ${phase()}`);
  objects.delete('pods', 'default', name, { gracePeriodSeconds: 1 });
  await waitFor(() => cluster.pod(name) === undefined, `${name} to be deleted`, {
    timeoutMs: deadlineMs,
    everyMs,
  });
}

async function shortPods(cluster: Cluster, image: string): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < plan.pods) {
      const name = `short-${next++}`;
      await runToCompletion(cluster, podOf(name, image, 'seq 1 500; echo done > /v/done'), deadlineMs);
    }
  };
  await Promise.all(Array.from({ length: plan.atOnce }, lane));
}

async function writers(cluster: Cluster, image: string): Promise<void> {
  const bytes = Math.round(plan.logBytes / plan.writers);
  // Long lines, which cost the runtime less per byte.
  const script = `yes "$(printf '%04000d' 0)" | head -c ${bytes}`;
  const names = Array.from({ length: plan.writers }, (_, i) => `writer-${i}`);
  await Promise.all(
    names.map((name) => runToCompletion(cluster, podOf(name, image, script), writerDeadlineMs)),
  );
}

async function startKubelet(rig: Rig, cluster: Cluster): Promise<Kubelet> {
  const kubelet = rig.newKubelet({
    nodeName,
    flags: [`--kubeconfig=${cluster.kubeconfig}`],
    config: { containerLogMaxSize: '10Mi', containerLogMaxFiles: 3 },
  });
  mkdirSync(kubelet.podLogsDir, { recursive: true });
  // The rig unmounts it.
  await mustRun('mount', ['-t', 'tmpfs', '-o', `size=${plan.logFsBytes}`, 'tmpfs', kubelet.podLogsDir]);
  await kubelet.start();
  await cluster.untilNodeReady();
  return kubelet;
}

/** What is left a while after the last pod. */
async function settled(rig: Rig, kubelet: Kubelet): Promise<Readonly<Record<string, number>>> {
  const none = async (): Promise<boolean> =>
    Object.values(await leftovers(rig, kubelet)).every((count) => count === 0);
  await waitFor(none, 'nothing to be left', { timeoutMs: 90_000, everyMs: 500 }).catch(() => undefined);
  return leftovers(rig, kubelet);
}

interface Outcome {
  readonly samples: SoakSamples;
  readonly podSeconds: number;
  readonly logSeconds: number;
  readonly left: Readonly<Record<string, number>>;
}

/** Returns what failed. */
function print({ left, logSeconds, podSeconds, samples }: Outcome): readonly string[] {
  const inMebi = (bytes: number): string => `${(bytes / mebi).toFixed(1)} MiB`;
  const row = (name: string, of: (sample: SoakSample) => number, show: (value: number) => string) => {
    const { first, last } = samples.thirds(of);
    return [name, show(first), show(last), show(Math.max(...samples.samples.map(of)))];
  };
  const machine = `${availableParallelism()} cores, load after ${(loadavg()[0] ?? 0).toFixed(1)}`;
  console.log(
    `${plan.pods} pods in ${podSeconds.toFixed(0)} s, ${plan.logBytes / 1e9} GB of logs in ${logSeconds.toFixed(0)} s, ${machine}`,
  );
  console.log(
    table([
      ['', 'first third', 'last third', 'most'],
      row('kubelet RSS', ({ rssBytes }) => rssBytes, inMebi),
      row('kubelet descriptors', ({ descriptors }) => descriptors, String),
      row('root directory', ({ rootDirBytes }) => rootDirBytes, inMebi),
      row('of it history', ({ historyBytes }) => historyBytes, inMebi),
      row('sandboxes', ({ sandboxes }) => sandboxes, String),
      row('containers', ({ containers }) => containers, String),
      ['log file system', '', '', inMebi(samples.logFsPeakBytes)],
      ['largest log file', '', '', inMebi(samples.largestLogBytes)],
    ]),
  );
  console.log(`left: ${JSON.stringify(left)}`);
  const rss = samples.thirds(({ rssBytes }) => rssBytes);
  const grew = rss.last > Math.max(rss.first * maxGrowth, rss.first + growthSlackBytes);
  return [
    ...(samples.logFsPeakBytes > plan.logFsBytes * 0.9 ? ['the log file system ran full'] : []),
    ...(Object.values(left).some((count) => count > 0) ? ['something was left behind'] : []),
    ...(grew && samples.samples.length >= minSamples ? ['memory grew'] : []),
  ];
}

async function main(): Promise<void> {
  const rig = await startRig();
  const cluster = await startCluster(rig, nodeName);
  try {
    const kubelet = await startKubelet(rig, cluster);
    const samples = new SoakSamples(rig, kubelet);
    const startedMs = performance.now();
    const seconds = (): number => (performance.now() - startedMs) / 1000;
    const [podSeconds, logSeconds] = await Promise.all([
      shortPods(cluster, rig.images.busybox).then(seconds),
      writers(cluster, rig.images.busybox).then(seconds),
    ]);
    const left = await settled(rig, kubelet);
    samples.stop();
    if (process.argv.includes('--samples')) console.log(JSON.stringify(samples.samples));
    const failures = print({ samples, podSeconds, logSeconds, left });
    console.log(failures.length === 0 ? 'passed' : `failed: ${failures.join(', ')}`);
    if (failures.length > 0) process.exitCode = 1;
  } finally {
    await rig.stop();
    await cluster.stop();
  }
}

const why = rigUnavailableReason();
if (why === undefined)
  await main().catch((err: unknown) => {
    console.error(err);
    // The other pods of a failed soak are still being waited for.
    process.exit(1);
  });
else console.log(`bench skipped: ${why}`);
