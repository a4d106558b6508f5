// Exclusive CPUs, memory and devices look as with a Go kubelet: the same pods run on this kubelet and on the one that
// PEER_KUBELET names, and all that others see of them is compared. A node also changes between both under running pods.
import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFailed, test } from 'vitest';
import { describeOnRig } from './rig/on-rig.ts';
import { deletePods, eventCount } from './support/device-pods.ts';
import { type ManagersNode, nodeName, startManagersNode } from './support/managers-node.ts';
import { ManagersRecord } from './support/managers-record.ts';
import { cpuPod, devicesPod, sharedPod, showManagers } from './support/managers-scenario.ts';
import { listPodResources, untilAllocatable } from './support/pod-resources.ts';
import { runtimeState } from './support/takeover-state.ts';

const peer = process.env['PEER_KUBELET'];
const isDual = cpus().length === 2;
/** Several reconciliations of the CPUs and reports of the node's status. */
const settleMs = 4000;

const memory = {
  memoryManagerPolicy: 'Static',
  reservedMemory: [{ numaNode: 0, limits: { memory: '100Mi' } }],
};
const onNode0 = ['--numa=0,0,0,0'];
const settings: readonly (readonly [string, Readonly<Record<string, unknown>>, readonly string[]])[] = [
  ['no topology policy', {}, []],
  ['single-numa-node', { ...memory, topologyManagerPolicy: 'single-numa-node' }, onNode0],
  [
    'single-numa-node for whole pods',
    { ...memory, topologyManagerPolicy: 'single-numa-node', topologyManagerScope: 'pod' },
    onNode0,
  ],
];

function reasonToSkip(): string | undefined {
  if (peer === undefined) return 'PEER_KUBELET is not set';
  return isDual ? undefined : 'the machine does not have two CPUs';
}

const skipReason = reasonToSkip();
describe.skipIf(skipReason !== undefined)(
  skipReason === undefined ? `Go kubelet ${peer}` : `Go kubelet (skipped: ${skipReason})`,
  () => {
    describeOnRig('managers', () => {
      test.each(settings)('look the same from outside with %s', async (_, config, flags) => {
        const pluginFlags = ['--preferred', '--pre-start', ...flags];
        const theirs = await showManagers({ command: peer, config, pluginFlags });
        const ours = await showManagers({ command: undefined, config, pluginFlags });
        for (const [what, found] of Object.entries(theirs)) expect(ours[what], what).toEqual(found);
        expect(Object.keys(ours)).toEqual(Object.keys(theirs));
      });
    });

    describeOnRig('managers at a take-over', () => {
      let node: ManagersNode;
      let record: ManagersRecord;
      beforeAll(async () => {
        node = await startManagersNode({ command: peer, config: memory });
        record = new ManagersRecord(node);
        for (const pod of [sharedPod('shared'), devicesPod('devices', 2), cpuPod('solo', '1')]) {
          node.cluster.createPod(pod);
          await node.cluster.untilReady(pod.metadata?.name ?? '');
        }
        await sleep(settleMs);
        expect(Object.keys(await listPodResources(node.kubelet))).toEqual(['devices/main', 'solo/main']);
        expect(await record.cpusets()).toMatchObject({
          'shared/main': 'Cpus_allowed_list:\t0',
          'solo/main': 'Cpus_allowed_list:\t1',
        });
      });
      afterAll(() => node.stop());
      beforeEach(() => onTestFailed(() => console.error(node.describe())));

      const state = async (): Promise<unknown> => ({
        runtime: await runtimeState(node.rig),
        podResources: await record.podResources(),
        cpusets: await record.cpusets(),
        files: record.stateFiles(),
        statuses: record.statuses(),
        node: record.nodeResources(),
      });
      const complaints = (from: number): readonly string[] =>
        node.kubelet.log
          .matching(/^[EF]\d{4} /, from)
          .filter((line) => /checkpoint|corrupt|cpu_?manager|memory_?manager|device/i.test(line));

      test.each([
        ['to this kubelet, after a kill', 'kill9', undefined],
        ['to a restart of this kubelet', 'stop', undefined],
        ['back to the Go kubelet', 'stop', peer],
        ['to this kubelet again', 'stop', undefined],
        ['and back after a kill', 'kill9', peer],
      ] as const)('%s, pods keep CPUs, memory and devices, and nothing restarts', async (_, end, command) => {
        const before = await state();
        const from = await node.replace(end, command);
        await sleep(settleMs);
        expect(await state()).toEqual(before);
        expect(complaints(from)).toEqual([]);
        expect(eventCount(node.cluster, nodeName, 'ManagerStateRecovered')).toBe(0);
      });

      test('what the other kubelet granted becomes free', async () => {
        await node.replace('stop', undefined);
        await deletePods(node.cluster, 'solo', 'devices');
        for (const pod of [devicesPod('next-devices', 4), cpuPod('next-solo', '1')]) {
          node.cluster.createPod(pod);
          await node.cluster.untilReady(pod.metadata?.name ?? '');
        }
        await untilAllocatable(node.kubelet, { [node.plugin.resource]: 4 });
      });
    });
  },
);
