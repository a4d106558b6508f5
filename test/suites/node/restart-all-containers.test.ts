// A rule that restarts all containers of a pod, on a whole kubelet and the fake clock.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { aContainer, aPod } from '../../builders/builders.ts';
import { FakeNode } from '../../simulate/fake-node.ts';

let node: FakeNode;
beforeEach(async () => {
  node = new FakeNode();
  await node.start();
});
afterEach(async () => await node.stop());

const restartPolicyRules = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }];
const command = ['sh', '-c', 'sleep 5; exit 42'];
const pod = aPod({
  restartPolicy: 'Never',
  initContainers: [aContainer({ name: 'i', command: ['sh', '-c', 'exit 0'] })],
  containers: [
    aContainer({ name: 'a' }),
    aContainer({ name: 'b', command, restartPolicy: 'Never', restartPolicyRules }),
  ],
});

const counts = (): readonly unknown[] =>
  [
    ...(node.status('uid-p')?.initContainerStatuses ?? []),
    ...(node.status('uid-p')?.containerStatuses ?? []),
  ].map(({ name, restartCount, lastState }) => [name, restartCount, lastState?.terminated?.reason]);

describe('RestartAllContainers', () => {
  test('restarts every container in the same sandbox, from the init containers on', async () => {
    node.write('p.yaml', pod);
    await node.clock.advance(4_000);
    const before = node.calls().length;
    await node.clock.advance(5_000);
    expect(node.calls().filter((call) => call === 'RunPodSandbox')).toHaveLength(1);
    expect(node.calls().slice(before).slice(0, 4)).toEqual([
      'StopContainer',
      'RemoveContainer',
      'RemoveContainer',
      'RemoveContainer',
    ]);
    expect(node.status('uid-p')?.phase).toBe('Running');
    expect(counts().map((each) => (each as unknown[]).slice(0, 2))).toEqual([
      ['i', 1],
      ['a', 1],
      ['b', 1],
    ]);
    expect(node.eventLines('uid-p')).toContain('Killing: killing');
  });

  test('continues after a kill of the kubelet at any moment', async () => {
    node.cri.faults.latency('stopContainer', 40);
    node.cri.faults.latency('removeContainer', 30);
    node.write('p.yaml', pod);
    await node.clock.advance(5_000);
    for (let afterMs = 0; afterMs <= 300; afterMs += 30) {
      await node.clock.advance(afterMs);
      await node.kill();
      await node.start();
    }
    await node.clock.advance(4_000);
    expect(node.calls().filter((call) => call === 'RunPodSandbox')).toHaveLength(1);
    const names = (await node.cri.listContainers({})).containers.map((each) => each.metadata?.name);
    expect(new Set(names)).toEqual(new Set(['i', 'a', 'b']));
    for (const [, count] of counts() as readonly (readonly [string, number])[])
      expect(count).toBeGreaterThanOrEqual(1);
  });
});
