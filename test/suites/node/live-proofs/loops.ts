// Proofs of the fields about how often something is done: syncs, checks of the sources, restarts, measurements.
import { expect } from 'vitest';
import { Duration } from '../../../../src/config/duration.ts';
import { bodyText, httpRequest } from '../../../../src/server/fixtures/requests.ts';
import { aContainer } from '../../../builders/builders.ts';
import type { FakeNode } from '../../../simulate/fake-node.ts';
import { minutes, type Proofs, runPod, seconds, startLive } from './rig.ts';

async function syncs(node: FakeNode): Promise<number> {
  const text = await bodyText(await node.request(httpRequest('GET /metrics')));
  const line = text
    .split('\n')
    .find((each) => each.startsWith('kubelet_pod_worker_duration_seconds_count{operation_type="sync"}'));
  return Number(line?.split(' ').at(-1) ?? 0);
}

/** How much the count grows in a minute. */
async function inAMinute(node: FakeNode, count: () => number | Promise<number>): Promise<number> {
  const before = await count();
  await node.clock.advance(60_000);
  return (await count()) - before;
}

export const loopProofs: Proofs = {
  syncFrequency: async () => {
    const node = await startLive({ syncFrequency: minutes(60) });
    const items = [{ path: 'f', fieldRef: { fieldPath: 'metadata.name' } }];
    const mounted = aContainer({ name: 'p', volumeMounts: [{ name: 'v', mountPath: '/v' }] });
    await runPod(node, 'p', { containers: [mounted], volumes: [{ name: 'v', downwardAPI: { items } }] });
    const updates = (): number =>
      node.volumes.calls.filter((each) => each.startsWith('writeContent ')).length;
    await node.clock.advance(60_000);
    expect(await inAMinute(node, () => syncs(node))).toBe(0);
    expect(await inAMinute(node, updates)).toBe(0);
    node.reconfigure({ syncFrequency: seconds(5) });
    expect(await inAMinute(node, () => syncs(node))).toBeGreaterThanOrEqual(10);
    expect(await inAMinute(node, updates)).toBeGreaterThanOrEqual(10);
  },
  fileCheckFrequency: async () => {
    const node = await startLive({ fileCheckFrequency: minutes(60) });
    const failures = (): number => node.logged('manifest').length;
    node.manifestsUnreadable = true;
    expect(await inAMinute(node, failures)).toBe(0);
    node.manifestsUnreadable = false;
    node.reconfigure({ fileCheckFrequency: seconds(10) });
    await node.clock.advance(1_000);
    node.manifestsUnreadable = true;
    expect(await inAMinute(node, failures)).toBeGreaterThan(0);
  },
  httpCheckFrequency: async () => {
    let requests = 0;
    const node = await startLive(
      { staticPodURL: 'http://127.0.0.1/pods', httpCheckFrequency: minutes(60) },
      {},
      (fakeNode) => {
        fakeNode.httpGet = () => {
          requests++;
          return Promise.reject(new Error('no such server'));
        };
      },
    );
    expect(await inAMinute(node, () => requests)).toBe(0);
    node.reconfigure({ httpCheckFrequency: seconds(10) });
    expect(await inAMinute(node, () => requests)).toBeGreaterThanOrEqual(6);
  },
  'crashLoopBackOff.maxContainerRestartPeriod': async () => {
    const node = await startLive(
      { crashLoopBackOff: { maxContainerRestartPeriod: minutes(5) } },
      { gates: { KubeletCrashLoopBackOffMax: true } },
    );
    node.cri.setProgram('crasher', async () => 1);
    await runPod(node, 'crasher', { containers: [aContainer({ name: 'crasher' })] });
    await node.clock.advance(10 * 60_000);
    const starts = (): number => node.calls().filter((each) => each === 'StartContainer').length;
    expect(await inAMinute(node, starts)).toBeLessThanOrEqual(1);
    node.reconfigure({ crashLoopBackOff: { maxContainerRestartPeriod: seconds(5) } });
    expect(await inAMinute(node, starts)).toBeGreaterThanOrEqual(8);
  },
  volumeStatsAggPeriod: async () => {
    const node = await startLive({ volumeStatsAggPeriod: minutes(60) });
    const volumes = [{ name: 'v', emptyDir: {} }];
    const mounted = aContainer({ name: 'p', volumeMounts: [{ name: 'v', mountPath: '/v' }] });
    await runPod(node, 'p', { containers: [mounted], volumes });
    const measure = async (): Promise<number> => {
      const usage = (): number => node.volumes.calls.filter((each) => each.startsWith('usage ')).length;
      const before = usage();
      for (let at = 0; at < 4; at++) {
        await node.clock.until(node.request(httpRequest('GET /stats/summary')), 20_000);
        await node.clock.advance(15_000);
      }
      return usage() - before;
    };
    await measure();
    expect(await measure()).toBe(0);
    node.reconfigure({ volumeStatsAggPeriod: seconds(10) });
    expect(await measure()).toBe(4);
    node.reconfigure({ volumeStatsAggPeriod: Duration.ofMs(3_600_000) });
    expect(await measure()).toBe(0);
  },
};
