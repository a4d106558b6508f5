// CSI drivers that hang, die and fail in every call, beside pods of other drivers and without any: a driver delays its own pods
// only, nothing is mounted twice, and nothing is left once the driver works again.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { type RpcFailureCode as Code, goCodeName, rpcFailureCodes } from '../src/api/cri/runtime.ts';
import type { Pod } from '../src/api/k8s/types.ts';
import type { CsiDriver } from './support/csi-driver.ts';
import { type CsiNode, describeOnCsiNode, useCsiNode } from './support/csi-node.ts';
import { csiDriverObject, requestExpansion } from './support/csi-objects.ts';
import { eventually } from './support/suite-driver.ts';

const steps = {
  stage: 'NodeStageVolume',
  publish: 'NodePublishVolume',
  unpublish: 'NodeUnpublishVolume',
  unstage: 'NodeUnstageVolume',
} as const;

const volumeIdOf = (request: unknown): string => (request as { readonly volumeId: string }).volumeId;

describeOnCsiNode('CSI drivers that fail', () => {
  let node: CsiNode;
  useCsiNode(
    (started) => {
      node = started;
    },
    () => ({ config: { volumeStatsAggPeriod: '1s', syncFrequency: '3s' } }),
  );

  afterEach(() => {
    for (const driver of node.drivers) driver.clearFaults();
  });

  const untilReady = async (...names: readonly string[]): Promise<void> => {
    await Promise.all(names.map((name) => node.cluster.untilReady(name)));
  };
  /** Creates pods that each have one volume of the driver, and both with the same name. */
  const create = (driver: CsiDriver, ...names: readonly string[]): void => {
    for (const name of names) {
      node.claim({ name, driver: driver.name });
      node.createWith(name, [name]);
    }
  };
  const remove = (...names: readonly string[]): void => {
    for (const name of names) node.objects.delete('pods', 'default', name);
  };
  /** The methods of calls that follow an order and have no response. */
  const unanswered = (driver: CsiDriver): readonly string[] => [
    ...new Set(
      driver
        .calls()
        .filter(({ code, fault, pid }) => code === undefined && fault !== undefined && pid === driver.pid)
        .map(({ method }) => method)
        .toSorted(),
    ),
  ];
  const expectMountedOnce = (driver: CsiDriver): void => {
    expect(driver.mounts().filter(({ count }) => count !== 1)).toEqual([]);
    expect(driver.overlaps()).toEqual([]);
  };

  test('a driver that hangs delays its own pods only, and all continue when it is released or killed', async () => {
    const [innocent, released, killed, capabilities] = await Promise.all([
      node.driver({ name: 'innocent.example.com' }),
      node.driver({ name: 'released.example.com', kind: 'tmpfs' }),
      node.driver({ name: 'killed.example.com' }),
      node.driver({ name: 'capabilities.example.com' }),
    ]);
    const info = node.newDriver({ name: 'info.example.com' });
    csiDriverObject(node.cluster, {}, info.name);
    create(released, 'r-unpublish', 'r-unstage', 'r-stats', 'r-expand');
    create(killed, 'k-unpublish', 'k-unstage');
    await untilReady('r-unpublish', 'r-unstage', 'r-stats', 'r-expand', 'k-unpublish', 'k-unstage');

    const hang = (volume: string, method: string) => ({ volume, method, hang: true as const });
    const hangEach = (prefix: string) =>
      Object.entries(steps).map(([step, method]) => hang(`${prefix}-${step}`, method));
    released.setFaults(
      ...hangEach('r'),
      hang('r-stats', 'NodeGetVolumeStats'),
      hang('r-expand', 'NodeExpandVolume'),
    );
    killed.setFaults(
      ...hangEach('k'),
      hang('gone-stage', 'NodeStageVolume'),
      hang('gone-publish', 'NodePublishVolume'),
    );
    capabilities.setFaults({ method: 'NodeGetCapabilities', hang: true });
    info.setFaults({ method: 'NodeGetInfo', hang: true });
    await info.start();
    create(released, 'r-stage', 'r-publish');
    create(killed, 'k-stage', 'k-publish', 'gone-stage', 'gone-publish');
    create(capabilities, 'capabilities');
    // As upstream, a driver is usable before it has answered NodeGetInfo.
    create(info, 'info');
    const measured = node.kubelet.secure('/stats/summary');
    // The pods that are deleted now are in the summary that waits for this call, or has been sent already.
    await eventually(() => unanswered(released)).toContain('NodeGetVolumeStats');
    remove('r-unpublish', 'r-unstage', 'k-unpublish', 'k-unstage');
    requestExpansion(node.cluster, 'r-expand', '64Mi');
    const all = Object.values(steps).toSorted();
    await eventually(() => unanswered(released)).toEqual(
      ['NodeExpandVolume', 'NodeGetVolumeStats', ...all].toSorted(),
    );
    await eventually(() => unanswered(killed)).toEqual(all);
    await eventually(() => [unanswered(info), unanswered(capabilities)]).toEqual([
      ['NodeGetInfo'],
      ['NodeGetCapabilities'],
    ]);

    // Meanwhile, other pods come and go, and those that are deleted while they wait end.
    create(innocent, 'innocent');
    node.create('plain');
    await untilReady('innocent', 'plain', 'info');
    const summary = JSON.parse((await measured).text) as { readonly pods: readonly object[] };
    expect(summary.pods.length).toBeGreaterThanOrEqual(6);
    await node.end('innocent', 'plain', 'gone-stage', 'gone-publish');
    expect(unanswered(released)).toHaveLength(6);
    for (const [name, driver, method] of [
      ['r-stage', released, steps.stage],
      ['r-publish', released, steps.publish],
      ['r-unpublish', released, steps.unpublish],
      ['k-unpublish', killed, steps.unpublish],
      ['capabilities', capabilities, 'NodeGetCapabilities'],
    ] as const) {
      const clause = `volume ${name} waits for the CSI driver ${driver.name} to answer ${method}`;
      expect(await node.explanation(name)).toContain(clause);
    }
    // Unstaging holds no pod.
    await node.cluster.untilGone('r-unstage');
    await node.cluster.untilGone('k-unstage');

    released.clearFaults();
    capabilities.clearFaults();
    info.clearFaults();
    await killed.kill9();
    killed.clearFaults();
    await killed.start();
    await untilReady('r-stage', 'r-publish', 'k-stage', 'k-publish', 'capabilities', 'info');
    await node.cluster.untilGone('r-unpublish');
    await node.cluster.untilGone('k-unpublish');
    await eventually(
      () => node.objects.get('persistentvolumeclaims', 'default', 'r-expand')?.status?.capacity,
    ).toEqual({ storage: '64Mi' });
    for (const driver of [released, killed, capabilities, info]) expectMountedOnce(driver);
    for (const name of ['r-stats', 'r-expand'])
      expect(node.cluster.pod(name)?.status?.containerStatuses?.[0]?.restartCount).toBe(0);
    await node.end(
      'r-stage',
      'r-publish',
      'r-stats',
      'r-expand',
      'k-stage',
      'k-publish',
      'capabilities',
      'info',
    );
    await node.untilNoLeftovers();
  });

  test('a driver that dies in each call, before or after its work, is mounted once, and leaves nothing', async () => {
    const driver = await node.driver({ name: 'dies.example.com' });
    const moments = ['before', 'after'] as const;
    const orders = moments.flatMap((when) => [
      ...Object.values(steps).map((method) => ({ method, volume: `dies-${when}`, when })),
      ...['GetInfo', 'NodeGetInfo', 'NodeGetCapabilities'].map((method) => ({ method, when })),
    ]);
    driver.setFaults(...orders.map((order) => ({ ...order, die: true as const, times: 1 })));
    const restarts = new AbortController();
    const restarting = (async () => {
      while (!restarts.signal.aborted) {
        if (!driver.running) await driver.start().catch(() => undefined);
        await sleep(20);
      }
    })();
    try {
      create(driver, 'dies-before', 'dies-after');
      await untilReady('dies-before', 'dies-after');
      expectMountedOnce(driver);
      await node.end('dies-before', 'dies-after');
      await node.untilNoLeftovers();
      // A call that another death has ended is ordered to die when it is repeated.
      expect(driver.calls().filter(({ fault }) => fault?.die)).toHaveLength(orders.length);
    } finally {
      restarts.abort();
      await restarting;
    }
  });

  test('a failed call is reported with its code, and repeated, whatever the code is', async () => {
    const driver = await node.driver({ name: 'codes.example.com' });
    const volumeOf = (code: Code): string => `once-${goCodeName(code)?.toLowerCase()}`;
    driver.setFaults(
      ...rpcFailureCodes.flatMap((code) =>
        Object.values(steps).map((method) => ({ method, code, volume: volumeOf(code), times: 1 })),
      ),
    );
    for (const code of rpcFailureCodes) node.claim({ name: volumeOf(code), driver: driver.name });
    // Similar events of one pod are combined.
    const pods = [0, 1, 2, 3].map((at) => ({
      name: `once-${at}`,
      codes: rpcFailureCodes.slice(4 * at, 4 * at + 4),
    }));
    for (const { codes, name } of pods) node.createWith(name, codes.map(volumeOf));
    await untilReady(...pods.map(({ name }) => name));
    for (const { codes, name } of pods) {
      const text = (step: string, code: Code): string =>
        `MountVolume.${step} failed for volume "${volumeOf(code)}" : rpc error: code = ${goCodeName(code)} desc = fails on order`;
      const expected = codes.flatMap((code) => [text('MountDevice', code), text('SetUp', code)]);
      await eventually(() => node.messages('FailedMount', name).toSorted()).toEqual(expected.toSorted());
    }
    expectMountedOnce(driver);
    await node.end(...pods.map(({ name }) => name));
    await node.untilNoLeftovers();
    for (const method of Object.values(steps))
      for (const code of rpcFailureCodes) {
        const calls = driver.calls(method).filter(({ request }) => volumeIdOf(request) === volumeOf(code));
        expect(calls.map((call) => call.code)).toEqual([code, 'OK']);
      }
  });

  test('what a driver certainly has not done is removed, and what it may have done is undone with the pod', async () => {
    const driver = await node.driver({ name: 'never.example.com' });
    const uncertain: readonly Code[] = [
      'CANCELLED',
      'DEADLINE_EXCEEDED',
      'UNAVAILABLE',
      'RESOURCE_EXHAUSTED',
      'ABORTED',
    ];
    const cases = (['stage', 'publish'] as const).flatMap((step) =>
      (['before', 'after'] as const).flatMap((when) =>
        rpcFailureCodes.map((code) => ({
          step,
          when,
          code,
          name: `never-${step}-${when}-${goCodeName(code)?.toLowerCase()}`,
          isKept: when === 'after' || uncertain.includes(code),
        })),
      ),
    );
    driver.setFaults(
      ...cases.map(({ code, name, step, when }) => ({ method: steps[step], volume: name, code, when })),
    );
    for (const { name } of cases) node.claim({ name, driver: driver.name });
    const createWith = (step: 'stage' | 'publish'): Pod =>
      node.createWith(
        `never-${step}`,
        cases.filter((each) => each.step === step).map(({ name }) => name),
      );
    createWith('stage');
    const published = createWith('publish');
    const kept = (): readonly string[] =>
      cases.flatMap(({ name, step }) => {
        const directory =
          step === 'stage' ? node.stagingDir(name, driver.name) : node.volumeDir(published, name);
        return existsSync(join(directory, 'vol_data.json')) ? [name] : [];
      });
    await eventually(
      () => driver.calls().filter(({ fault }) => fault !== undefined).length,
    ).toBeGreaterThanOrEqual(2 * cases.length);
    await eventually(kept).toEqual(cases.filter(({ isKept }) => isKept).map(({ name }) => name));
    expectMountedOnce(driver);
    await node.end('never-stage', 'never-publish');
    await node.untilNoLeftovers();
    const unstaged = new Set(driver.calls('NodeUnstageVolume').map(({ request }) => volumeIdOf(request)));
    expect(cases.filter(({ name }) => unstaged.has(name)).map(({ name }) => name)).toEqual(
      cases.filter(({ isKept, step }) => isKept || step === 'publish').map(({ name }) => name),
    );
  });
});
