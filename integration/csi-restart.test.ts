// Kills of the kubelet, and a reboot of the node, at every step of the life of CSI volumes, on real containers and mounts: wanted
// pods keep or get their volumes, mounted once, and unwanted pods leave nothing.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Node, Pod } from '../src/api/k8s/types.ts';
import { waitFor } from './rig/wait.ts';
import { AttachController } from './support/attach-controller.ts';
import type { CsiDriver } from './support/csi-driver.ts';
import { type CsiNode, describeOnCsiNode, useCsiNode } from './support/csi-node.ts';
import { uniqueVolumeName } from './support/csi-objects.ts';
import { CsiPods, runOf, seeded, untilIdle, untilMoreCalls } from './support/csi-restarts.ts';

interface Cut {
  readonly name: string;
  readonly method: string;
  readonly when: 'before' | 'after';
  readonly fate: string;
}

/** One pod per call, moment of the call, and fate of the pod while the kubelet is down. */
function cuts(methods: readonly string[], fates: readonly string[]): readonly Cut[] {
  return methods.flatMap((method) =>
    (['before', 'after'] as const).flatMap((when) =>
      fates.map((fate) => ({ name: `${method.toLowerCase()}-${when}-${fate}`, method, when, fate })),
    ),
  );
}

describeOnCsiNode('CSI volumes across restarts', () => {
  let node: CsiNode;
  let driver: CsiDriver;
  let pods: CsiPods;
  /** Its volumes are attached. */
  let attached: CsiDriver;
  let attachedPods: CsiPods;

  useCsiNode(async (started) => {
    node = started;
    const volumeLifecycleModes = ['Persistent', 'Ephemeral'];
    driver = await node.driver({}, { volumeLifecycleModes });
    attached = await node.driver(
      { name: 'attached.csi.example.com' },
      { attachRequired: true, volumeLifecycleModes },
    );
    pods = new CsiPods(node, driver);
    attachedPods = new CsiPods(node, attached);
  });

  const expectCorrect = (): void => {
    expect(node.drivers.map((each) => [each.violations(), each.overlaps()])).toEqual([
      [[], []],
      [[], []],
    ]);
  };

  /** Makes the driver hang in these calls and the API server in the read before `early`, and waits until they do. */
  const hangIn = async (calls: readonly Cut[], begin: () => void): Promise<{ release(): void }> => {
    driver.setFaults(
      ...calls.flatMap(({ method, name, when }) =>
        pods.handles(name).map((volume) => ({ method, volume, when, hang: true as const })),
      ),
    );
    const secret = node.cluster.double.faults.stall({ verb: 'get', resource: 'secrets', name: 'stage' });
    begin();
    await waitFor(
      () => {
        const hung = driver.calls().filter(({ fault, code }) => fault?.hang && code === undefined).length;
        if (hung >= 2 * calls.length && secret.waiting >= 4) return true;
        throw new Error(`${hung} calls and ${secret.waiting} requests hang`);
      },
      'all calls to hang',
      60_000,
    );
    return { release: () => secret.remove() };
  };

  test('a kubelet killed in every call of the driver: wanted pods get their volumes, mounted once, and unwanted pods leave nothing', async () => {
    const starting = cuts(['NodeStageVolume', 'NodePublishVolume'], ['wanted', 'lost']);
    const ending = cuts(['NodeUnpublishVolume', 'NodeUnstageVolume'], ['deleted', 'lost', 'replaced']);
    // The secret is read before vol_data.json is written.
    const early = ['wanted', 'lost'].map((fate) => ({ name: `early-${fate}`, fate }));
    const nodeStageSecretRef = { namespace: 'default', name: 'stage' };
    node.objects.create('secrets', { metadata: nodeStageSecretRef, data: {} });
    for (const { name } of early) pods.claim(name, { csi: { nodeStageSecretRef } });
    for (const { name } of [...starting, ...ending, { name: 'steady' }]) pods.claim(name);
    const created = new Map<string, Pod>();
    for (const { name } of [...ending, { name: 'steady' }]) created.set(name, pods.create(name));
    for (const { name } of ending) await pods.untilWhole(name);
    const steady = await pods.untilWhole('steady');

    const hanging = await hangIn([...starting, ...ending], () => {
      for (const { name } of [...early, ...starting]) created.set(name, pods.create(name));
      for (const { name } of ending) pods.delete(name);
    });
    await node.kubelet.kill9();
    for (const { name, fate } of [...early, ...starting, ...ending])
      if (fate === 'lost' || fate === 'replaced') pods.lose(name);
    for (const { name, fate } of ending) if (fate === 'replaced') pods.create(`next-${name}`, name);
    // After the restart a volume is mounted, but its driver does not confirm it at first.
    const unconfirmed = starting
      .filter(({ fate, method }) => fate === 'wanted' && method === 'NodePublishVolume')
      .flatMap(({ name }) => pods.handles(name));
    const fault = { method: 'NodePublishVolume', when: 'after', code: 'UNAVAILABLE', times: 2 } as const;
    driver.setFaults(...unconfirmed.map((volume) => ({ ...fault, volume })));
    hanging.release();
    await untilIdle(driver);
    await node.kubelet.start();

    for (const { name, fate } of [...early, ...starting])
      if (fate === 'wanted') expect(runOf(await pods.untilWhole(name))).toMatchObject([{ restarts: 0 }]);
    for (const { name, fate } of ending)
      if (fate === 'replaced') await pods.untilWhole(`next-${name}`, { claims: name });
    expect(runOf(await pods.untilWhole('steady'))).toEqual(runOf(steady));
    for (const volume of unconfirmed) {
      const answers = pods.callsFor(volume).filter(({ method }) => method === fault.method);
      expect(answers.map(({ code }) => code)).toEqual(['CANCELLED', 'UNAVAILABLE', 'UNAVAILABLE', 'OK']);
    }
    for (const { name, fate } of [...early, ...starting, ...ending]) {
      const pod = created.get(name);
      if (fate !== 'wanted' && pod !== undefined) await pods.untilNothing(pod);
    }
    await pods.endAll();
    expectCorrect();
  });

  test('a reboot: wanted pods get their volumes with what was on them, unwanted pods are removed once the driver is back', async () => {
    const names = ['rebooted', 'rebooted-lost', 'rebooted-deleted'];
    const created = names.map((name) => {
      pods.claim(name);
      return pods.create(name);
    });
    for (const name of names) await pods.untilWhole(name);
    await node.exec(await pods.untilWhole('rebooted'), 'echo kept > /files/kept');
    await pods.reboot();
    pods.lose('rebooted-lost');
    pods.delete('rebooted-deleted');
    await node.kubelet.start();
    await driver.start();
    // The API server still has the status of before the reboot.
    const isRestarted = ({ containerStatuses: [status] = [] }: NonNullable<Pod['status']>): boolean =>
      status?.restartCount === 1 && status.ready;
    await node.cluster.untilPod('rebooted', 'to run again', isRestarted);
    const after = await pods.untilWhole('rebooted', { mounted: 2 });
    expect(await node.exec(after, 'cat /files/kept')).toBe('kept\n');
    for (const pod of created.slice(1)) await pods.untilNothing(pod);
    await pods.endAll();
    expectCorrect();
  });

  test('20 kills at random moments while pods come and go: a running pod is not restarted, nothing is mounted twice, nothing is left', async () => {
    const controller = new AttachController(node.cluster, {
      mounted: () => attached.inUse(),
      lateMs: 60_000,
    });
    const random = seeded(Number(process.env['CSI_SEED'] ?? 23));
    const claims = ['c1', 'c2', 'c3'];
    const living: string[] = [];
    const churn = (kill: number): void => {
      for (const each of ['a', 'b']) {
        const name = `churn-${kill}-${each}`;
        attachedPods.create(name, claims[Math.floor(random() * claims.length)]);
        living.push(name);
      }
      while (living.length > 4) {
        const [name = ''] = living.splice(Math.floor(random() * living.length), 1);
        if (random() < 0.5) attachedPods.delete(name);
        else attachedPods.lose(name);
      }
    };
    controller.start();
    try {
      for (const each of [...claims, 'constant']) attachedPods.claim(each);
      attachedPods.create('constant');
      const constant = await attachedPods.untilWhole('constant');
      for (let kill = 0; kill < 20; kill++) {
        churn(kill);
        // In the middle of what the driver does, however fast the machine is.
        await untilMoreCalls(attached, Math.floor(random() * 16));
        await sleep(random() * 40);
        await node.kubelet.kill9();
        if (kill % 5 === 4) {
          await attached.kill9();
          await attached.start();
        }
        await node.kubelet.start({ untilReady: random() < 0.5 });
      }
      for (const name of living) await node.cluster.untilReady(name);
      expect(runOf(await attachedPods.untilWhole('constant'))).toEqual(runOf(constant));
      expect(attached.mounts().filter(({ count }) => count !== 1)).toEqual([]);
      await attachedPods.endAll();
      const isDetached = (): boolean =>
        [...controller.times.values()].every(({ detachedMs }) => detachedMs !== undefined);
      await waitFor(isDetached, 'all volumes to be detached');
      expect(controller.violations).toEqual([]);
      expectCorrect();
    } finally {
      controller.stop();
    }
  });

  test('an attached volume is reported as in use across kills of the kubelet until it is unstaged', async () => {
    const handles = attachedPods.handles('held');
    const names = handles.map((handle) => uniqueVolumeName(handle, attached.name)).sort();
    const controller = new AttachController(node.cluster, {
      mounted: () => attached.inUse(),
      lateMs: 60_000,
    });
    /** In use while the node's status did not name them. */
    const drops: string[] = [];
    const unsubscribe = node.cluster.double.store.subscribe(({ after, type }) => {
      if (type.plural !== 'nodes' || after === undefined) return;
      const { volumesInUse = [] } = (after as Node).status ?? {};
      const used = attached.inUse();
      for (const handle of handles)
        if (used.has(handle) && !volumesInUse.includes(uniqueVolumeName(handle, attached.name)))
          drops.push(handle);
    });
    const inUse = (): readonly string[] => node.cluster.node()?.status?.volumesInUse ?? [];
    /** Kills the kubelet, and waits until the next process has reported the node's status. */
    const restart = async (between: () => void = () => undefined): Promise<void> => {
      await node.kubelet.kill9();
      between();
      const sinceMs = Date.now();
      await node.kubelet.start();
      const isStatus = (each: { readonly verb: string; readonly resource: string; readonly atMs: number }) =>
        each.atMs > sinceMs && each.verb === 'patch' && each.resource === 'nodes';
      await waitFor(() => node.cluster.double.requests.some(isStatus), 'a status of the node');
    };
    controller.start();
    try {
      attachedPods.claim('held');
      const pod = attachedPods.create('held');
      await attachedPods.untilWhole('held');
      await restart();
      expect(inUse()).toEqual(names);
      attached.setFaults({ method: 'NodeUnstageVolume', hang: true });
      attachedPods.delete('held');
      await node.cluster.untilGone('held');
      expect(inUse()).toEqual(names);
      await restart(() => attached.setFaults({ method: 'NodeUnstageVolume', code: 'UNAVAILABLE', times: 4 }));
      await attachedPods.untilNothing(pod);
      await attachedPods.endAll();
      await waitFor(() => inUse().length === 0, 'no volume to be in use');
      const isDetached = (handle: string): boolean => controller.times.get(handle)?.detachedMs !== undefined;
      await waitFor(() => handles.every(isDetached), 'the volumes to be detached');
      expect([drops, controller.violations]).toEqual([[], []]);
      expectCorrect();
    } finally {
      unsubscribe();
      controller.stop();
      attached.clearFaults();
    }
  });
});
