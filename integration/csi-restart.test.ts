// Kills of the kubelet, and a reboot of the node, at every step of the life of CSI volumes, on real containers and mounts: wanted
// pods keep or get their volumes, mounted once, and unwanted pods leave nothing.
import { lstatSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Node, Pod } from '../src/api/k8s/types.ts';
import { loopDevicesOf } from './rig/mounts.ts';
import { mustRun } from './rig/process.ts';
import { waitFor } from './rig/wait.ts';
import { AttachController } from './support/attach-controller.ts';
import type { CsiDriver } from './support/csi-driver.ts';
import { type CsiNode, describeOnCsiNode, useCsiNode } from './support/csi-node.ts';
import { claimVolume, uniqueVolumeName } from './support/csi-objects.ts';
import { CsiPods, runOf, seeded, untilIdle, untilMoreCalls } from './support/csi-restarts.ts';
import { container, exitsOnTerm } from './support/manifest.ts';

interface Cut {
  readonly name: string;
  readonly method: string;
  readonly when: 'before' | 'after';
  readonly fate: string;
}

/** One pod per call, moment of the call, and fate of the pod. */
function cuts(methods: readonly string[], fates: readonly string[]): readonly Cut[] {
  return methods.flatMap((method) =>
    (['before', 'after'] as const).flatMap((when) =>
      fates.map((fate) => ({ name: `${method.toLowerCase()}-${when}-${fate}`, method, when, fate })),
    ),
  );
}

const crowd = Number(process.env['CSI_CROWD'] ?? 20);

describeOnCsiNode('CSI volumes across restarts', () => {
  let node: CsiNode;
  let driver: CsiDriver;
  let pods: CsiPods;

  useCsiNode(async (started) => {
    node = started;
    driver = await node.driver({}, { volumeLifecycleModes: ['Persistent', 'Ephemeral'] });
    pods = new CsiPods(node, driver);
  });

  const expectCorrect = (): void => {
    expect(driver.violations()).toEqual([]);
    expect(driver.overlaps()).toEqual([]);
  };

  /** Ends all pods; nothing of their volumes may stay. */
  const endAll = async (): Promise<void> => {
    const all = node.objects.list('pods', 'default');
    for (const { metadata } of all) pods.delete(metadata?.name ?? '');
    for (const pod of all) await pods.untilNothing(pod);
    await node.untilNoLeftovers();
    for (const { dataDir } of node.drivers)
      await waitFor(() => loopDevicesOf(dataDir).length === 0, 'the devices to be detached', 3000).catch(
        async (e) => {
          console.log(
            (await mustRun('losetup', ['-l']))
              .split('\n')
              .map((l) => 'L ' + l)
              .join('\n'),
          );
          throw e;
        },
      );
  };

  test('a kubelet killed in every call of the driver: wanted pods get their volumes, mounted once, and unwanted pods leave nothing', async () => {
    const t0 = Date.now();
    const mark = (what: string) => console.log(what, Date.now() - t0);
    const starting = cuts(['NodeStageVolume', 'NodePublishVolume'], ['wanted', 'lost']);
    const ending = cuts(['NodeUnpublishVolume', 'NodeUnstageVolume'], ['deleted', 'lost', 'replaced']);
    const early = ['wanted', 'lost'].map((fate) => ({ name: `early-${fate}`, fate }));
    // Read before vol_data.json is written.
    const nodeStageSecretRef = { namespace: 'default', name: 'stage' };
    node.objects.create('secrets', { metadata: nodeStageSecretRef, data: {} });
    for (const { name } of early) pods.claim(name, { csi: { nodeStageSecretRef } });
    for (const { name } of [...starting, ...ending]) pods.claim(name);
    pods.claim('steady');
    const created = new Map<string, Pod>();
    for (const { name } of [...ending, { name: 'steady' }]) created.set(name, pods.create(name));
    for (const { name } of ending) await pods.untilWhole(name);
    const steady = await pods.untilWhole('steady');
    mark('running');

    driver.setFaults(
      ...[...starting, ...ending].flatMap(({ method, name, when }) =>
        pods.handles(name).map((volume) => ({ method, volume, when, hang: true as const })),
      ),
    );
    const secret = node.cluster.double.faults.stall({ verb: 'get', resource: 'secrets', name: 'stage' });
    for (const { name } of [...early, ...starting]) created.set(name, pods.create(name));
    for (const { name } of ending) pods.delete(name);
    await waitFor(
      () => {
        const hung = driver.calls().filter(({ fault, code }) => fault?.hang && code === undefined).length;
        if (hung >= 2 * (starting.length + ending.length) && secret.waiting >= 4) return true;
        throw new Error(`${hung} calls and ${secret.waiting} requests hang`);
      },
      'all calls to hang',
      60_000,
    );
    mark('hung');
    await node.kubelet.kill9();
    for (const { name, fate } of [...early, ...starting, ...ending])
      if (fate === 'lost' || fate === 'replaced') pods.lose(name);
    for (const { name, fate } of ending) if (fate === 'replaced') pods.create(`next-${name}`, name);
    // The first answers after the restart do not say that the volume is complete, although it is mounted.
    const uncertain = starting.filter(
      ({ fate, method }) => fate === 'wanted' && method === 'NodePublishVolume',
    );
    driver.setFaults(
      ...uncertain.flatMap(({ method, name }) =>
        pods.handles(name).map((volume) => ({
          method,
          volume,
          when: 'after' as const,
          code: 'UNAVAILABLE' as const,
          times: 2,
        })),
      ),
    );
    secret.remove();
    await untilIdle(driver);
    await node.kubelet.start();
    mark('started');

    for (const { name, fate } of [...early, ...starting])
      if (fate === 'wanted')
        expect(runOf(await pods.untilWhole(name))[0]).toMatchObject([expect.anything(), 0]);
    for (const { name, fate } of ending)
      if (fate === 'replaced') await pods.untilWhole(`next-${name}`, { claims: name });
    expect(runOf(await pods.untilWhole('steady'))).toEqual(runOf(steady));
    for (const { name } of uncertain)
      for (const handle of pods.handles(name))
        expect(
          pods
            .callsFor(handle)
            .filter(({ method }) => method === 'NodePublishVolume')
            .map(({ code }) => code),
        ).toEqual(['CANCELLED', 'UNAVAILABLE', 'UNAVAILABLE', 'OK']);
    mark('whole');
    for (const { name, fate } of [...early, ...starting, ...ending]) {
      const pod = created.get(name);
      if (fate !== 'wanted' && pod !== undefined) await pods.untilNothing(pod);
    }
    mark('gone');
    await endAll();
    mark('all gone');
    expectCorrect();
  });

  test('a reboot: wanted pods get their volumes with what was on them, unwanted pods are removed once the driver is back', async () => {
    const t0 = Date.now();
    const mark = (what: string) => console.log(what, Date.now() - t0);
    const names = ['rebooted', 'rebooted-lost', 'rebooted-deleted'];
    const created = new Map<string, Pod>();
    for (const name of names) {
      pods.claim(name);
      created.set(name, pods.create(name));
    }
    for (const name of names) await pods.untilWhole(name);
    const before = await pods.untilWhole('rebooted');
    await node.exec(before, 'echo kept > /files/kept');
    mark('running');
    await pods.reboot();
    mark('rebooted');
    pods.lose('rebooted-lost');
    pods.delete('rebooted-deleted');
    await node.kubelet.start();
    await driver.start();
    mark('started');
    // The API server has the status of before the reboot.
    await node.cluster.untilPod(
      'rebooted',
      'to run again',
      ({ containerStatuses: [status] = [] }) => status?.restartCount === 1 && status.ready,
    );
    const after = await pods.untilWhole('rebooted', { mounted: 2 });
    expect(await node.exec(after, 'cat /files/kept')).toBe('kept\n');
    mark('whole');
    for (const name of names.slice(1)) await pods.untilNothing(created.get(name) ?? before);
    mark('gone');
    await endAll();
    mark('all gone');
    expectCorrect();
  });

  let attachedOnce: CsiDriver | undefined;
  const attachedDriver = async (): Promise<CsiDriver> => {
    attachedOnce ??= await node.driver(
      { name: 'attached.csi.example.com' },
      { attachRequired: true, volumeLifecycleModes: ['Persistent', 'Ephemeral'] },
    );
    return attachedOnce;
  };

  test('20 kills at random moments while pods come and go: a running pod is not restarted, nothing is mounted twice, nothing is left', async () => {
    const t0 = Date.now();
    const mark = (what: string) => console.log(what, Date.now() - t0);
    const attached = await attachedDriver();
    const own = new CsiPods(node, attached);
    const controller = new AttachController(node.cluster, {
      mounted: () => attached.inUse(),
      lateMs: 60_000,
    });
    controller.start();
    try {
      const random = seeded(Number(process.env['CSI_SEED'] ?? 23));
      const claims = ['c1', 'c2', 'c3'];
      for (const each of [...claims, 'constant']) own.claim(each);
      own.create('constant');
      const constant = await own.untilWhole('constant');
      mark('constant');
      const living: string[] = [];
      for (let kill = 0; kill < 20; kill++) {
        for (const each of ['a', 'b']) {
          const name = `churn-${kill}-${each}`;
          own.create(name, claims[Math.floor(random() * claims.length)]);
          living.push(name);
        }
        while (living.length > 4) {
          const [name = ''] = living.splice(Math.floor(random() * living.length), 1);
          if (random() < 0.5) own.delete(name);
          else own.lose(name);
        }
        // In the middle of what the driver does, however fast the machine is.
        await untilMoreCalls(attached, Math.floor(random() * 16));
        await sleep(random() * 40);
        await node.kubelet.kill9();
        await node.kubelet.start({ untilReady: random() < 0.5 });
      }
      console.log('published', new Set(attached.events('mount').map(({path})=>path)).size, 'unmounts', attached.events('unmount').length);
      mark('churned');
      await node.kubelet.waitUntilReady();
      for (const name of living) await node.cluster.untilReady(name);
      mark('ready');
      expect(runOf(await own.untilWhole('constant'))).toEqual(runOf(constant));
      expect(attached.mounts().filter(({ count }) => count !== 1)).toEqual([]);
      await endAll();
      mark('ended');
      await waitFor(
        () =>
          (node.cluster.node()?.status?.volumesInUse ?? []).length === 0 &&
          [...controller.times.values()].every(({ detachedMs }) => detachedMs !== undefined),
        'detach',
      );
      mark('detached');
      expect(controller.violations).toEqual([]);
      expect([attached.violations(), attached.overlaps()]).toEqual([[], []]);
    } finally {
      controller.stop();
    }
  });

  test('a volume whose mount is uncertain: of a pod that never ran it is removed before the pod is, unless the driver hangs', async () => {
    const faults = ['NodeStageVolume', 'NodePublishVolume'].flatMap((method) =>
      (['UNAVAILABLE', 'DEADLINE_EXCEEDED'] as const).map((code) => ({
        name: `${method.toLowerCase()}-${code.toLowerCase().replace('_', '-')}`,
        method,
        code,
      })),
    );
    const names = [...faults.map(({ name }) => name), 'slow'];
    for (const name of names) pods.claim(name);
    driver.setFaults(
      ...faults.flatMap(({ name, ...fault }) =>
        pods.handles(name).map((volume) => ({ ...fault, volume, when: 'after' as const })),
      ),
      ...pods.handles('slow').flatMap((volume) => [
        { method: 'NodePublishVolume', volume, when: 'after' as const, code: 'UNAVAILABLE' as const },
        { method: 'NodeUnstageVolume', volume, hang: true as const },
      ]),
    );
    /** What the driver had mounted of a pod's volumes when the API server removed it. */
    const atRemoval = new Map<string, readonly string[]>();
    const unsubscribe = node.cluster.double.store.subscribe(({ after, last, type }) => {
      const { name = '' } = last.metadata;
      if (type.plural === 'pods' && after === undefined)
        atRemoval.set(
          name,
          driver
            .mounts()
            .filter(({ volume }) => pods.handles(name).includes(volume))
            .map(({ role }) => role),
        );
    });
    try {
      const created = names.map((name) => pods.create(name));
      const isTriedTwice = (handle: string): boolean =>
        pods.callsFor(handle).filter(({ code, fault }) => fault !== undefined && code !== 'OK').length > 1;
      await waitFor(
        () => names.every((name) => pods.handles(name).every(isTriedTwice)),
        'each volume to be tried twice',
      );
      for (const name of names) pods.delete(name);
      for (const name of names) await node.cluster.untilGone(name);
      expect(Object.fromEntries(atRemoval)).toEqual({
        ...Object.fromEntries(names.map((name) => [name, []])),
        slow: ['staging'],
      });
      driver.clearFaults();
      for (const pod of created) await pods.untilNothing(pod);
      await endAll();
      expect(created.map(({ metadata }) => node.messages('Started', metadata?.name))).toEqual(
        created.map(() => []),
      );
    } finally {
      unsubscribe();
    }
    expectCorrect();
  });

  test('an attached volume is reported as in use across kills of the kubelet until it is unstaged', async () => {
    const attached = await attachedDriver();
    const own = new CsiPods(node, attached);
    const names = own.handles('held').map((handle) => uniqueVolumeName(handle, attached.name));
    const controller = new AttachController(node.cluster, {
      mounted: () => attached.inUse(),
      lateMs: 60_000,
    });
    const drops: string[] = [];
    const unsubscribe = node.cluster.double.store.subscribe(({ after, type }) => {
      if (type.plural !== 'nodes' || after === undefined) return;
      const { volumesInUse = [] } = (after as Node).status ?? {};
      for (const handle of own.handles('held').filter((each) => attached.inUse().has(each)))
        if (!volumesInUse.includes(uniqueVolumeName(handle, attached.name))) drops.push(handle);
    });
    const inUse = () => node.cluster.node()?.status?.volumesInUse ?? [];
    /** Kills the kubelet, and waits until the next process has reported the node's status. */
    const restart = async (between: () => void = () => undefined): Promise<void> => {
      await node.kubelet.kill9();
      between();
      const sinceMs = Date.now();
      await node.kubelet.start();
      const reported = (): boolean =>
        node.cluster.double.requests.some(
          ({ atMs, resource, subresource, verb }) =>
            atMs > sinceMs && verb === 'patch' && resource === 'nodes' && subresource === 'status',
        );
      await waitFor(reported, 'a status of the node');
    };
    controller.start();
    try {
      own.claim('held');
      const pod = own.create('held');
      await own.untilWhole('held');
      await restart();
      expect(inUse()).toEqual([...names].sort());
      attached.setFaults({ method: 'NodeUnstageVolume', hang: true });
      own.delete('held');
      await node.cluster.untilGone('held');
      expect(inUse()).toEqual([...names].sort());
      await restart(() => attached.setFaults({ method: 'NodeUnstageVolume', code: 'UNAVAILABLE', times: 4 }));
      await own.untilNothing(pod);
      await endAll();
      await waitFor(() => inUse().length === 0, 'no volume in use');
      await waitFor(
        () => own.handles('held').every((handle) => controller.times.get(handle)?.detachedMs !== undefined),
        'the volumes to be detached',
      );
      expect(drops).toEqual([]);
      expect(controller.violations).toEqual([]);
      expect([attached.violations(), attached.overlaps()]).toEqual([[], []]);
    } finally {
      unsubscribe();
      controller.stop();
      attached.clearFaults();
    }
  });

  test('a damaged vol_data.json: a running pod keeps its volumes, and a removed pod leaves nothing', async () => {
    const damages = {
      truncated: (path: string) => writeFileSync(path, readFileSync(path, 'utf8').slice(0, 40)),
      empty: (path: string) => writeFileSync(path, ''),
      text: (path: string) => writeFileSync(path, 'no JSON'),
      node: (path: string) =>
        writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), nodeName: 'node2' })),
      link: (path: string) => {
        const elsewhere = `${outside}-${basename(dirname(path))}`;
        writeFileSync(elsewhere, readFileSync(path));
        rmSync(path);
        symlinkSync(elsewhere, path);
      },
      huge: (path: string) => writeFileSync(path, ' '.repeat(10 * 1024 ** 2)),
      missing: (path: string) => rmSync(path),
    };
    const outside = join(node.rig.workspace.dir, 'outside');
    const kinds = Object.keys(damages) as (keyof typeof damages)[];
    const build = (name: string): Pod => {
      const files = kinds.flatMap((kind) => [`${name}-${kind}`, `${name}-staged-${kind}`]);
      const raw = kinds.map((kind) => `block-${name}-${kind}`);
      for (const each of files) node.claim({ name: each });
      for (const each of raw) node.claim({ name: each, volumeMode: 'Block' });
      return node.create(name, {
        volumes: [...files, ...raw].map((each) => claimVolume(each)),
        containers: [
          container('main', exitsOnTerm, {
            volumeMounts: files.map((each) => ({ name: each, mountPath: `/${each}` })),
            volumeDevices: raw.map((each) => ({ name: each, devicePath: `/dev/${each}` })),
          }),
        ],
      });
    };
    const fileOf = (dir: string): string => join(dir, 'vol_data.json');
    const created = { wanted: build('wanted'), lost: build('lost') };
    const before = await node.cluster.untilReady('wanted');
    await node.cluster.untilReady('lost');
    const events = node.messages('FailedMount');
    await node.kubelet.kill9();
    const damaged = Object.entries(created).flatMap(([name, pod]) =>
      kinds.flatMap((kind) => {
        const block =
          name === 'wanted' || kind === 'node'
            ? [fileOf(join(node.blockDir, `block-${name}-${kind}`, 'data'))]
            : [];
        const paths = [
          fileOf(node.volumeDir(pod, `${name}-${kind}`)),
          fileOf(node.stagingDir(`${name}-staged-${kind}`)),
          ...block,
        ];
        if (name === 'wanted') return paths.map((path) => ({ path, kind }));
        for (const path of paths) damages[kind](path);
        return [];
      }),
    );
    const texts = damaged.map(({ path }) => readFileSync(path, 'utf8'));
    for (const { kind, path } of damaged) damages[kind](path);
    pods.lose('lost');
    await node.kubelet.start();
    await waitFor(() => {
      const now = damaged.map(({ path }) =>
        lstatSync(path).isFile() ? readFileSync(path, 'utf8').slice(0, 1000) : 'link',
      );
      if (JSON.stringify(now) === JSON.stringify(texts)) return true;
      throw new Error(JSON.stringify(damaged.filter((_, at) => now[at] !== texts[at])));
    }, 'the files to be written again');
    await pods.untilNothing(created.lost);
    expect(runOf(await node.cluster.untilReady('wanted'))).toEqual(runOf(before));
    expect(node.messages('FailedMount')).toEqual(events);
    expect(driver.mounts().filter(({ count }) => count !== 1)).toEqual([]);
    await endAll();
    expectCorrect();
  });

  test(`${crowd} pods with three volumes each start and end at once`, async () => {
    const t0 = Date.now();
    const mark = (what: string) => console.log(what, Date.now() - t0);
    const names = Array.from({ length: crowd }, (_, at) => `crowd-${at}`);
    const volumes = (name: string) => ['a', 'b', 'c'].map((each) => `${name}-${each}`);
    for (const name of names) for (const each of volumes(name)) node.claim({ name: each });
    for (const name of names) node.createWith(name, volumes(name));
    for (const name of names) await node.cluster.untilReady(name);
    mark('ready');
    expect(driver.mounts().map(({ count }) => count)).toEqual(Array(6 * crowd).fill(1));
    for (const name of names) pods.delete(name);
    for (const name of names) await node.cluster.untilGone(name);
    mark('gone');
    await endAll();
    mark('nothing');
    const calls = names.flatMap(volumes).flatMap((each) => pods.callsFor(each));
    const waits = calls.map(({ atMs, endMs = 0 }) => endMs - atMs);
    console.log('calls', calls.length, 'longest', Math.max(...waits));
    expectCorrect();
  });
});
