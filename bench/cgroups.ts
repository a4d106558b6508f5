// Measures the creation and removal of pod cgroups in this machine's real hierarchies. Needs root.
//
//   node tools/run-ts.mjs bench/cgroups.ts [pods]
import { realClock } from '../src/base/clock.ts';
import { cgroupfsSpelling } from '../src/edge/cgroup/cgroup-spelling.ts';
import { CgroupFs } from '../src/edge/cgroup/cgroups.ts';
import { findHierarchies } from '../src/edge/cgroup/hierarchies.ts';
import { killProcess } from '../src/edge/machine/kill-process.ts';
import { readMachine } from '../src/edge/machine/machine.ts';
import { PodCgroups } from '../src/resources/cgroups/pod-cgroups.ts';
import { aContainer, aPod } from '../test/builders/builders.ts';
import { median, percentile, table } from './statistics.ts';

const count = Number(process.argv[2] ?? 200);
const root = [`kubelet-bench-${process.pid}`];
const { hugePageSizes } = await readMachine();
const cgroups = new CgroupFs({
  hierarchies: await findHierarchies(),
  spelling: cgroupfsSpelling,
  pageSizes: hugePageSizes,
  clock: realClock,
  killProcess,
});
const pods = new PodCgroups({
  cgroups,
  root: [...root, 'kubepods'],
  policy: {
    enforceCpuLimits: true,
    cpuPeriodUs: 100_000n,
    pidsLimit: 0n,
    reservesMemory: false,
    podLevelResources: true,
  },
});
const amounts = { cpu: '250m', memory: '64Mi' };
const guaranteed = (uid: string) =>
  aPod({ uid, containers: [aContainer({ resources: { requests: amounts, limits: amounts } })] });
const burstable = (uid: string) =>
  aPod({ uid, containers: [aContainer({ resources: { requests: amounts } })] });
const bestEffort = (uid: string) => aPod({ uid, containers: [aContainer({})] });

async function timed(work: () => Promise<void>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

const rows: string[][] = [['', 'median', 'p95', 'each of ten at once']];
const addRow = (name: string, one: readonly number[], many: readonly number[]): void =>
  void rows.push([
    name,
    ...[median(one), percentile(one, 0.95), median(many)].map((ms) =>
      Number.isNaN(ms) ? '' : `${ms.toFixed(2)} ms`,
    ),
  ]);

for (const parents of [[], ['burstable'], ['besteffort']])
  await cgroups.create([...root, 'kubepods', ...parents], {});
try {
  for (const [name, make] of Object.entries({ guaranteed, burstable, bestEffort })) {
    const uids = Array.from({ length: count }, (_, index) => `${name}-${index}`);
    const single: Record<'create' | 'again' | 'remove', number[]> = { create: [], again: [], remove: [] };
    for (const uid of uids) single.create.push(await timed(() => pods.ensure(make(uid))));
    for (const uid of uids) single.again.push(await timed(() => pods.ensure(make(uid))));
    for (const uid of uids) single.remove.push(await timed(() => pods.removePod(uid)));
    const many: Record<'create' | 'remove', number[]> = { create: [], remove: [] };
    for (let at = 0; at < count; at += 10) {
      const ten = uids.slice(at, at + 10);
      many.create.push(
        (await timed(async () => void (await Promise.all(ten.map((uid) => pods.ensure(make(uid))))))) / 10,
      );
      many.remove.push(
        (await timed(async () => void (await Promise.all(ten.map((uid) => pods.removePod(uid)))))) / 10,
      );
    }
    addRow(`create the cgroup of a ${name} pod`, single.create, many.create);
    addRow('ensure it again', single.again, []);
    addRow('remove it', single.remove, many.remove);
  }
} finally {
  await cgroups.remove(root);
}
console.log(table(rows));
