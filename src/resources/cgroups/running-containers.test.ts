import { expect, test } from 'vitest';
import { FakeCgroups } from '../../../test/fakes/fake-cgroups.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { criLabels } from '../../api/cri/labels.ts';
import type { CriRuntime } from '../../api/cri/runtime.ts';
import { asContainerId } from '../../api/pod/pod-ref.ts';
import { RunningContainers } from './running-containers.ts';

const labelsOf = (uid: string) => ({
  [criLabels.podUid]: uid,
  [criLabels.containerName]: 'c',
  [criLabels.podNamespace]: 'default',
  [criLabels.podName]: `pod-${uid}`,
});

function rig(isHanging = false) {
  const cgroups = new FakeCgroups();
  const clock = new FakeClock(0);
  const hang = (): Promise<never> => new Promise(() => undefined);
  const cri = {
    listContainers: async () =>
      isHanging
        ? await hang()
        : {
            containers: [
              { id: 'a', labels: labelsOf('u'), annotations: { x: 'y' } },
              { id: 'b', labels: labelsOf('v'), annotations: {} },
              { id: 'foreign', labels: {}, annotations: {} },
            ],
          },
    containerStatus: async ({ containerId }: { containerId?: string }) => ({
      status: { labels: labelsOf(containerId === 'a' ? 'u' : 'v') },
    }),
  } as unknown as Pick<CriRuntime, 'listContainers' | 'containerStatus'>;
  return { cgroups, clock, running: new RunningContainers({ cri, cgroups, root: ['kubepods'], clock }) };
}

test('lists running containers of pods, with their annotations', async () => {
  expect(await rig().running.list()).toEqual([
    { id: 'a', uid: 'u', pod: 'default/pod-u', container: 'c', annotations: { x: 'y' } },
    { id: 'b', uid: 'v', pod: 'default/pod-v', container: 'c', annotations: {} },
  ]);
});

test('finds Guaranteed pods by the place of their cgroups', async () => {
  const { cgroups, running } = rig();
  cgroups.enter('/kubepods/podu', 1);
  cgroups.enter('/kubepods/burstable/podv', 2);
  expect((await running.listGuaranteed()).map(({ uid }) => uid)).toEqual(['u']);
});

test("reads the CPUs and memory nodes of a container's cgroup, whatever the runtime calls it", async () => {
  const { cgroups, running } = rig();
  cgroups.cpusets.set('/kubepods/podu/cri-containerd-a.scope', { cpus: '1,3', memoryNodes: '0' });
  expect(await running.cpusOf(asContainerId('a'))).toBe('1,3');
  expect(await running.memoryNodesOf(asContainerId('a'))).toBe('0');
  expect(await running.cpusOf(asContainerId('b'))).toBeUndefined();
  await expect(running.cpusOf(asContainerId('../x'))).rejects.toThrow('is not a container ID');
});

test('gives up on a runtime that does not answer', async () => {
  const { clock, running } = rig(true);
  const outcome = running.list().catch((err: unknown) => String(err));
  await clock.advance(5_000);
  expect(await outcome).toContain('the list of running containers');
});
