// Measures what the kubelet adds to a CSI driver: time and CPU time to mount and unmount persistent volumes, besides the driver's
// own calls. The volume manager works on real directories and mounts with the CSI driver of the tests, a process of its own; the
// objects come from memory. The floor is the driver alone: the same calls on prepared directories, measured in turn.
// Prints tables without a verdict. Needs root, because the driver mounts.
//
//   node tools/run-ts.mjs bench/csi-volumes.ts [--smoke]
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { CsiDriver, csiUnavailableReason } from '../integration/support/csi-driver.ts';

import type { CSIDriver } from '../src/api/k8s/types.ts';
import { Channel } from '../src/base/channel.ts';
import { realClock } from '../src/base/clock.ts';
import { startComponent } from '../src/base/component.ts';
import { csiDialer } from '../src/edge/csi/csi-dialer.ts';
import { VolumeFiles } from '../src/edge/volumes/volume-files.ts';
import { standaloneStorage } from '../src/objects/standalone-storage.ts';
import { FakePodObjects } from '../test/fakes/fake-pod-objects.ts';
import { testVolumes } from '../test/simulate/test-volumes.ts';
import { type Calls, loggedCalls, observedClient, withoutCallsMs } from './csi-calls.ts';
import {
  type Load,
  type Node,
  type PodSample,
  type Round,
  withKubelet,
  withoutKubelet,
} from './csi-rounds.ts';
import { median, percentile, table } from './statistics.ts';

const isSmoke = process.argv.includes('--smoke');

const loads: readonly Load[] = isSmoke
  ? [
      { name: '1 volume', rounds: 2, pods: 1, volumes: 1 },
      { name: '1 volume, 20 mounts', rounds: 1, pods: 1, volumes: 1, mounts: 20 },
      { name: '2 pods, 2 volumes each, slow driver', rounds: 1, pods: 2, volumes: 2, stageMs: 50 },
    ]
  : [
      { name: '1 volume', rounds: 100, pods: 1, volumes: 1 },
      { name: '1 volume, 500 other mounts', rounds: 50, pods: 1, volumes: 1, mounts: 500 },
      { name: '10 pods, 1 volume each', rounds: 10, pods: 10, volumes: 1 },
      { name: '50 pods, 1 volume each', rounds: 5, pods: 50, volumes: 1 },
      { name: '20 pods, 3 volumes each', rounds: 5, pods: 20, volumes: 3 },
      { name: '50 pods, staging takes 1 s', rounds: 3, pods: 50, volumes: 1, stageMs: 1_000 },
    ];

interface Measured {
  readonly load: Load;
  readonly alone: readonly Round[];
  readonly kubelet: readonly Round[];
}

async function measureLoad(node: Node, load: Load, label: string): Promise<Measured> {
  const { driver, host, rootDir } = node;
  const others = Array.from({ length: load.mounts ?? 0 }, (_, at) =>
    join(rootDir, 'pods', 'other', 'volumes', 'kubernetes.io~empty-dir', `memory-${at}`),
  );
  for (const path of others) {
    await host.makeDirectory(path, 0o750);
    await host.mountTmpfs(path, 4_096n);
  }
  if (load.stageMs !== undefined) driver.setFaults({ method: 'NodeStageVolume', hang: load.stageMs });
  const alone: Round[] = [];
  const kubelet: Round[] = [];
  for (let round = 0; round < load.rounds; round++) {
    alone.push(await withoutKubelet(node, load, `${label}-${round}`));
    kubelet.push(await withKubelet(node, load, `${label}-${round}`));
  }
  driver.clearFaults();
  for (const path of others) await host.unmount(path);
  return { load, alone, kubelet };
}

const ms = (value: number): string => value.toFixed(1);
const spread = (samples: readonly number[]): readonly string[] =>
  [0.5, 0.99].map((share) => ms(percentile(samples, share)));

/** Pods of all rounds: from the request to its end, and the part of it without a call of the driver. */
function podRow(
  phase: keyof Round,
  { alone, kubelet, load }: Measured,
  logged: Calls,
  sent: Calls,
): readonly string[] {
  const podsOf = (rounds: readonly Round[]): readonly PodSample[] =>
    rounds.flatMap((round) => round[phase].pods);
  const spans = (pods: readonly PodSample[]): readonly number[] =>
    pods.map(({ span }) => span.toMs - span.fromMs);
  const own = (calls: Calls): readonly number[] =>
    podsOf(kubelet).map(({ handles, span }) => withoutCallsMs(span, handles, calls));
  return [
    `${phase}: ${load.name}`,
    ...spread(spans(podsOf(alone))),
    ...spread(spans(podsOf(kubelet))),
    ...spread(own(logged)),
    ...spread(own(sent)),
  ];
}

function burstRow(phase: keyof Round, { alone, kubelet, load }: Measured): readonly string[] {
  const of = (rounds: readonly Round[], figure: 'allMs' | 'cpuMs'): number =>
    median(rounds.map((round) => round[phase][figure]));
  const [aloneMs, allMs] = [of(alone, 'allMs'), of(kubelet, 'allMs')];
  const more = (allMs - aloneMs) / (load.pods * load.volumes);
  return [
    `${phase}: ${load.name}`,
    ...[aloneMs, allMs, more, of(alone, 'cpuMs'), of(kubelet, 'cpuMs')].map(ms),
  ];
}

function report(measured: readonly Measured[], logged: Calls, sent: Calls): void {
  const rows = (
    row: (phase: keyof Round, each: Measured) => readonly string[],
  ): readonly (readonly string[])[] =>
    (['mount', 'unmount'] as const).flatMap((phase) => measured.map((each) => row(phase, each)));
  console.log(`load average ${loadavg()[0]?.toFixed(1)}; all figures in ms`);
  console.log(
    table([
      ['p50, p99 of pods', 'driver alone', '', 'kubelet', '', 'own, by log', '', 'own, by client', ''],
      ...rows((phase, each) => podRow(phase, each, logged, sent)),
      [],
      ['p50 of bursts', 'driver alone', 'kubelet', 'more per volume', 'CPU alone', 'CPU per volume'],
      ...rows(burstRow),
    ]),
  );
}

async function measure(rootDir: string, driver: CsiDriver, stop: AbortSignal): Promise<void> {
  const objects = new FakePodObjects();
  const object: CSIDriver = { metadata: { name: driver.name }, spec: { attachRequired: false } };
  const dialer = csiDialer({ clock: realClock, observe: () => undefined });
  const sent: Calls = new Map();
  const client = observedClient(dialer.client(driver.name, driver.sockets.endpoint), sent);
  const bare = dialer.client(driver.name, driver.sockets.endpoint);
  const host = new VolumeFiles({ podsDir: join(rootDir, 'pods'), now: () => Date.now() });
  const { components, manager } = testVolumes({
    rootDir,
    host: () => host,
    objects,
    storage: { ...standaloneStorage, csiDriver: () => Promise.resolve(object), knownCsiDriver: () => object },
    drivers: {
      get: () => client,
      names: () => [driver.name],
      changed: new Channel<string>(),
      refreshAllocatable: () => Promise.resolve(),
    },
    clock: realClock,
  });
  for (const component of components) await startComponent(component, stop);
  const node: Node = { rootDir, host, objects, manager, driver, bare };
  // The first calls connect, and compile what runs.
  await measureLoad(node, { name: '', rounds: 3, pods: 1, volumes: 1 }, 'first');
  const measured: Measured[] = [];
  for (const [at, load] of loads.entries()) measured.push(await measureLoad(node, load, String(at)));
  report(measured, loggedCalls(driver), sent);
  client.close();
  bare.close();
  const table = (await readFile('/proc/self/mountinfo', 'utf8')).split('\n');
  const faults = [...table.filter((line) => line.includes(rootDir)), ...driver.violations()];
  if (faults.length > 0) throw new Error(['leftover mounts or violations:', ...faults].join('\n'));
}

const why = csiUnavailableReason();
if (why !== undefined) throw new Error(why);
const dir = await mkdtemp(join(tmpdir(), 'bench-csi-'));
const rootDir = join(dir, 'root');
const driver = new CsiDriver({ dir, rootDir }, { kind: 'directory' });
const stop = new AbortController();
try {
  await driver.start();
  await measure(rootDir, driver, stop.signal);
} finally {
  stop.abort();
  await driver.clear();
}
// Only reached if nothing is mounted in it any more.
await rm(dir, { recursive: true });
