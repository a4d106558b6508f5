// Measures the setup and teardown of a pod's volumes (emptyDir, configMap, secret, projected token) on real directories and
// mounts. The objects come from memory, so that only the kubelet's share is measured. Prints a table without a verdict.
// Needs root, because it mounts.
//
//   node tools/run-ts.mjs bench/volumes.ts [--smoke]
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pod, Volume } from '../src/api/k8s/types.ts';
import { podUid } from '../src/api/pod/pod-ref.ts';
import { realClock } from '../src/base/clock.ts';
import { VolumeFiles } from '../src/edge/volumes/volume-files.ts';
import { FakePodObjects } from '../test/fakes/fake-pod-objects.ts';
import { testVolumes } from '../test/simulate/test-volumes.ts';
import { percentile, table } from './statistics.ts';

const isSmoke = process.argv.includes('--smoke');
const singles = isSmoke ? 3 : 200;
const burst = isSmoke ? 5 : 200;

const kinds: readonly Volume[] = [
  { name: 'empty', emptyDir: {} },
  { name: 'config', configMap: { name: 'cm' } },
  { name: 'secret', secret: { secretName: 's' } },
  {
    name: 'access',
    projected: {
      sources: [
        { serviceAccountToken: { path: 'token', expirationSeconds: 3607 } },
        { configMap: { name: 'ca', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        { downwardAPI: { items: [{ path: 'namespace', fieldRef: { fieldPath: 'metadata.namespace' } }] } },
      ],
    },
  },
];
const memory: Volume = { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } };

function podOf(uid: string, list: readonly Volume[]): Pod {
  const volumeMounts = list.map(({ name }) => ({ name, mountPath: `/${name}` }));
  return {
    metadata: { name: uid, namespace: 'default', uid },
    spec: { volumes: [...list], containers: [{ name: 'c', volumeMounts }] },
  };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

/** Creates the directories, files and links of a mounted pod again by synchronous system calls. Returns milliseconds. */
function copyEntries(from: string, to: string): number {
  const entries = entriesIn(from, statSync(from).dev);
  mkdirSync(to, { recursive: true });
  const startedMs = performance.now();
  for (const { path, create } of entries) create(`${to}/${path}`);
  return performance.now() - startedMs;
}

interface Entry {
  readonly path: string;
  readonly create: (path: string) => void;
}

function entriesIn(root: string, device: number, below = ''): readonly Entry[] {
  return readdirSync(join(root, below)).flatMap((name) => {
    const path = join(below, name);
    const found = lstatSync(join(root, path));
    if (found.isSymbolicLink()) return [{ path, create: (path) => symlinkSync('x', path) }];
    if (found.isFile()) {
      const data = readFileSync(join(root, path));
      return [{ path, create: (path) => writeFileSync(path, data) }];
    }
    // The mount point of a memory volume is on the disk, its content is not.
    const inside = found.dev === device ? entriesIn(root, device, path) : [];
    return [{ path, create: (path) => mkdirSync(path) }, ...inside];
  });
}

function row(name: string, samples: readonly number[]): readonly string[] {
  const ms = (value: number): string => `${value.toFixed(1)} ms`;
  return [name, ...[0.5, 0.9, 0.99].map((share) => ms(percentile(samples, share)))];
}

async function measure(rootDir: string): Promise<void> {
  const objects = new FakePodObjects();
  objects.putConfigMap('cm', { 'app.conf': 'a'.repeat(2_000), 'log.conf': 'b'.repeat(500) });
  objects.putConfigMap('ca', { 'ca.crt': 'c'.repeat(1_100) });
  objects.putSecret('s', { user: 'u', password: 'p' });
  const { manager, mounts } = testVolumes({
    rootDir,
    host: (podsDir) => new VolumeFiles({ podsDir, now: () => Date.now() }),
    objects,
    clock: realClock,
  });
  /** The pod's own directory exists before its volumes are mounted. */
  const prepare = async (pod: Pod): Promise<void> =>
    void (await mkdir(join(rootDir, 'pods', podUid(pod)), { recursive: true, mode: 0o750 }));
  const never = (): AbortSignal => new AbortController().signal;
  const samples = {
    floor: [] as number[],
    mount: [] as number[],
    again: [] as number[],
    unmount: [] as number[],
  };
  // All pods are mounted before the first is unmounted: some file systems scan recently freed inodes before they allocate a
  // new one, which is not what is measured here.
  const pods = Array.from({ length: singles }, (_, at) => podOf(`single-${at}`, kinds));
  for (const pod of pods) {
    await prepare(pod);
    samples.mount.push(await timed(() => manager.mount(pod, never())));
    samples.again.push(await timed(() => manager.mount(pod, never())));
    samples.floor.push(copyEntries(join(rootDir, 'pods', podUid(pod)), join(rootDir, 'floor', podUid(pod))));
  }
  for (const pod of pods) samples.unmount.push(await timed(() => manager.unmount(podUid(pod), never())));
  const many = Array.from({ length: burst }, (_, at) => podOf(`burst-${at}`, [...kinds, memory]));
  await Promise.all(many.map(prepare));
  const eachMs: number[] = [];
  const allMs = await timed(() =>
    Promise.all(many.map(async (pod) => eachMs.push(await timed(() => manager.mount(pod, never()))))),
  );
  const endMs = await timed(() => Promise.all(many.map((pod) => manager.unmount(podUid(pod), never()))));
  const left = (await readFile('/proc/self/mountinfo', 'utf8'))
    .split('\n')
    .filter((line) => line.includes(rootDir));
  console.log(
    table([
      ['four volumes of one pod', 'p50', 'p90', 'p99'],
      row('the same entries by synchronous calls', samples.floor),
      row('mount', samples.mount),
      row('mount again, nothing to do', samples.again),
      row('unmount', samples.unmount),
      [],
      row(`${burst} pods with five volumes at once, each`, eachMs),
      [`${burst} pods, all mounted after`, `${allMs.toFixed(0)} ms`],
      [`${burst} pods, all unmounted after`, `${endMs.toFixed(0)} ms`],
      ['leftover mounts and pods', `${left.length}, ${mounts.pods().length}`],
    ]),
  );
  if (left.length > 0) throw new Error('leftover mounts');
}

const rootDir = await mkdtemp(join(tmpdir(), 'bench-volumes-'));
await measure(rootDir);
// Only reached if nothing is mounted in it any more.
await rm(rootDir, { recursive: true });
