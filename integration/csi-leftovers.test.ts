// CSI volumes that could stay behind, on real containers and mounts: those of pods that never ran, those whose vol_data.json is
// damaged, and those of many pods that end at once.
import { lstatSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import type { Pod } from '../src/api/k8s/types.ts';
import { waitFor } from './rig/wait.ts';
import type { CsiDriver } from './support/csi-driver.ts';
import { type CsiNode, describeOnCsiNode, useCsiNode } from './support/csi-node.ts';
import { claimVolume } from './support/csi-objects.ts';
import { CsiPods, runOf } from './support/csi-restarts.ts';
import { container, exitsOnTerm } from './support/manifest.ts';

const crowd = 50;

describeOnCsiNode('CSI volumes that could stay behind', () => {
  let node: CsiNode;
  let driver: CsiDriver;
  let pods: CsiPods;

  useCsiNode(async (started) => {
    node = started;
    driver = await node.driver({}, { volumeLifecycleModes: ['Persistent', 'Ephemeral'] });
    pods = new CsiPods(node, driver);
  });

  const expectCorrect = (): void => {
    expect([driver.violations(), driver.overlaps()]).toEqual([[], []]);
  };

  test('a pod that never ran, since its mounts are uncertain: they are removed before the pod is, unless the driver hangs', async () => {
    const faults = ['NodeStageVolume', 'NodePublishVolume'].flatMap((method) =>
      (['UNAVAILABLE', 'DEADLINE_EXCEEDED'] as const).map((code) => ({ method, code })),
    );
    const names = [...faults.map((_, at) => `uncertain-${at}`), 'slow'];
    for (const name of names) pods.claim(name);
    const uncertain = { method: 'NodePublishVolume', code: 'UNAVAILABLE', when: 'after' } as const;
    driver.setFaults(
      ...faults.flatMap((fault, at) =>
        pods.handles(`uncertain-${at}`).map((volume) => ({ ...uncertain, ...fault, volume })),
      ),
      ...pods.handles('slow').flatMap((volume) => [
        { ...uncertain, volume },
        { method: 'NodeUnstageVolume', volume, hang: true as const },
      ]),
    );
    const mountsOf = (name: string): readonly string[] =>
      driver
        .mounts()
        .filter(({ volume }) => pods.handles(name).includes(volume))
        .map(({ role }) => role);
    /** What the driver had mounted of a pod's volumes when the API server removed the pod. */
    const atRemoval: Record<string, readonly string[]> = {};
    const unsubscribe = node.cluster.double.store.subscribe(({ after, last, type }) => {
      const { name = '' } = last.metadata;
      if (type.plural === 'pods' && after === undefined) atRemoval[name] = mountsOf(name);
    });
    try {
      const created = names.map((name) => pods.create(name));
      const isTriedTwice = (volume: string): boolean =>
        pods.callsFor(volume).filter(({ code, fault }) => fault !== undefined && code !== 'OK').length > 1;
      const areTriedTwice = (): boolean => names.flatMap((name) => pods.handles(name)).every(isTriedTwice);
      await waitFor(areTriedTwice, 'each volume to be tried twice', 60_000);
      for (const name of names) pods.delete(name);
      for (const name of names) await node.cluster.untilGone(name);
      const none = Object.fromEntries(names.map((name) => [name, []]));
      expect(atRemoval).toEqual({ ...none, slow: ['staging'] });
      driver.clearFaults();
      for (const pod of created) await pods.untilNothing(pod);
      await pods.endAll();
      expect(names.flatMap((name) => node.messages('Started', name))).toEqual([]);
      expectCorrect();
    } finally {
      unsubscribe();
    }
  });

  const damages = {
    truncated: (path: string) => writeFileSync(path, readFileSync(path).subarray(0, 40)),
    empty: (path: string) => writeFileSync(path, ''),
    text: (path: string) => writeFileSync(path, 'no JSON'),
    node: (path: string) =>
      writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), nodeName: 'node2' })),
    link: (path: string) => {
      const outside = join(node.rig.workspace.dir, `outside-${basename(dirname(path))}`);
      writeFileSync(outside, readFileSync(path));
      rmSync(path);
      symlinkSync(outside, path);
    },
    huge: (path: string) => writeFileSync(path, ' '.repeat(10 * 1024 ** 2)),
    missing: (path: string) => rmSync(path),
  };
  type Damage = keyof typeof damages;
  const kinds = Object.keys(damages) as readonly Damage[];

  /** A pod with three volumes per kind of damage: to the file of the pod, to that of the staged volume, and to that of a device. */
  const createDamaged = (name: string): Pod => {
    const files = kinds.flatMap((kind) => [`${name}-${kind}`, `${name}-staged-${kind}`]);
    const raw = kinds.map((kind) => `block-${name}-${kind}`);
    for (const each of files) node.claim({ name: each });
    for (const each of raw) node.claim({ name: each, volumeMode: 'Block' });
    const uses = {
      volumeMounts: files.map((each) => ({ name: each, mountPath: `/${each}` })),
      volumeDevices: raw.map((each) => ({ name: each, devicePath: `/dev/${each}` })),
    };
    return node.create(name, {
      volumes: [...files, ...raw].map((each) => claimVolume(each)),
      containers: [container('main', exitsOnTerm, uses)],
    });
  };
  const dataOf = (pod: Pod, kind: Damage): Readonly<Record<'target' | 'staged' | 'block', string>> => {
    const name = pod.metadata?.name ?? '';
    return {
      target: join(node.volumeDir(pod, `${name}-${kind}`), 'vol_data.json'),
      staged: join(node.stagingDir(`${name}-staged-${kind}`), 'vol_data.json'),
      block: join(node.blockDir, `block-${name}-${kind}`, 'data/vol_data.json'),
    };
  };

  test('a damaged vol_data.json: a running pod keeps its volumes, and a removed pod leaves nothing', async () => {
    const wanted = createDamaged('wanted');
    const lost = createDamaged('lost');
    const before = await node.cluster.untilReady('wanted');
    await node.cluster.untilReady('lost');
    await node.kubelet.kill9();
    const written = kinds.flatMap((kind) => Object.values(dataOf(wanted, kind)));
    const texts = written.map((path) => readFileSync(path, 'utf8'));
    for (const kind of kinds) {
      for (const path of Object.values(dataOf(wanted, kind))) damages[kind](path);
      const { block, staged, target } = dataOf(lost, kind);
      // Nothing else on the node names the volume of a device, so that a damaged file needs its pod.
      for (const path of kind === 'node' ? [target, staged, block] : [target, staged]) damages[kind](path);
    }
    pods.lose('lost');
    await node.kubelet.start();
    await waitFor(() => {
      const now = written.map((path) =>
        lstatSync(path).isFile() ? readFileSync(path, 'utf8').slice(0, 4_000) : '',
      );
      const damaged = written.filter((_, at) => now[at] !== texts[at]);
      if (damaged.length === 0) return true;
      throw new Error(damaged.join('\n'));
    }, 'the files to be written again');
    await pods.untilNothing(lost);
    expect(runOf(await node.cluster.untilReady('wanted'))).toEqual(runOf(before));
    expect(node.messages('FailedMount', 'wanted')).toEqual([]);
    expect(driver.mounts().filter(({ count }) => count !== 1)).toEqual([]);
    await pods.endAll();
    expectCorrect();
  });

  test(`${crowd} pods with three volumes each start and end at once: each volume is mounted once, and nothing is left`, async () => {
    const names = Array.from({ length: crowd }, (_, at) => `crowd-${at}`);
    const volumesOf = (name: string): readonly string[] => ['a', 'b', 'c'].map((each) => `${name}-${each}`);
    for (const name of names.flatMap(volumesOf)) node.claim({ name });
    const beganMs = performance.now();
    for (const name of names) node.createWith(name, volumesOf(name));
    for (const name of names) await node.cluster.untilReady(name);
    const readyMs = performance.now();
    expect(driver.mounts().map(({ count }) => count)).toEqual(Array(6 * crowd).fill(1));
    for (const name of names) pods.delete(name);
    for (const name of names) await node.cluster.untilGone(name);
    const goneMs = performance.now();
    await pods.endAll();
    const calls = names.flatMap(volumesOf).flatMap((volume) => pods.callsFor(volume));
    const longestMs = Math.max(...calls.map(({ atMs, endMs = Number.POSITIVE_INFINITY }) => endMs - atMs));
    console.log(
      `${crowd} pods with ${3 * crowd} CSI volumes: all Ready after ${Math.round(readyMs - beganMs)} ms, ` +
        `gone after ${Math.round(goneMs - readyMs)} ms; ${calls.length} calls, the longest of ${longestMs} ms`,
    );
    expect(calls.map(({ code }) => code)).toEqual(Array(12 * crowd).fill('OK'));
    expectCorrect();
  });
});
