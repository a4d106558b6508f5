import { describe, expect, test } from 'vitest';
import { asContainerId } from '../api/pod-ref.ts';
import { KubeletError } from '../base/errors.ts';
import { silentLogger } from '../base/log.ts';
import { anObservedContainer, anObservedPod, aPod, aSandbox } from '../testing/builders.ts';
import { computeGraceSeconds, stopContainers, stopSandboxes } from './stop-pod.ts';

describe('computeGraceSeconds', () => {
  const deleted = (seconds: number): ReturnType<typeof aPod> => {
    const pod = aPod();
    return { ...pod, metadata: { ...pod.metadata, deletionGracePeriodSeconds: seconds } };
  };
  const cases = [
    ["the pod's", aPod({ terminationGracePeriodSeconds: 7 }), undefined, {}, 7],
    ['that of its deletion before it', deleted(5), undefined, {}, 5],
    ['the caller overrules all', deleted(5), 3, {}, 3],
    ['never less than two', aPod({ terminationGracePeriodSeconds: 0 }), undefined, {}, 2],
    ['not even for the caller', aPod(), 0, {}, 2],
    [
      'without a pod what is written on the container',
      undefined,
      undefined,
      { terminationGraceSeconds: 9 },
      9,
    ],
    [
      'there too that of the deletion first',
      undefined,
      undefined,
      { terminationGraceSeconds: 9, deletionGraceSeconds: 4 },
      4,
    ],
    ['nothing is known', undefined, undefined, { terminationGraceSeconds: undefined }, 2],
  ] as const;
  for (const [name, pod, graceSeconds, over, want] of cases) {
    test(name, () =>
      expect(computeGraceSeconds(anObservedContainer(over), { pod, graceSeconds })).toBe(want),
    );
  }
});

test('containers end side by side; one that is gone counts as ended, a failure is told after all were tried', async () => {
  const asked: string[] = [];
  let most = 0;
  let now = 0;
  const stop = async (id: string | undefined): Promise<object> => {
    asked.push(id ?? '');
    now += 1;
    most = Math.max(most, now);
    await Promise.resolve();
    now -= 1;
    if (id === 'gone') throw new KubeletError('not-found', 'NOT_FOUND', 'gone');
    if (id === 'stuck') throw new KubeletError('timeout', 'DeadlineExceeded', 'stuck');
    return {};
  };
  const cri = {
    stopContainer: ({ containerId }: { containerId?: string | undefined }) => stop(containerId),
    stopPodSandbox: ({ podSandboxId }: { podSandboxId?: string | undefined }) => stop(podSandboxId),
  };
  const { signal } = new AbortController();
  const options = { pod: undefined, graceSeconds: undefined, why: 'test', signal };
  const containers = ['stuck', 'gone', 'c'].map((id) => anObservedContainer({ id: asContainerId(id) }));
  const deps = { cri, log: silentLogger };
  await expect(stopContainers(deps, containers, options)).rejects.toThrow('stuck');
  expect([asked.splice(0), most]).toEqual([['stuck', 'gone', 'c'], 3]);
  await stopContainers(deps, containers.slice(1), options);
  await stopSandboxes(deps, anObservedPod({ sandboxes: [aSandbox()] }), signal);
  expect(asked).toEqual(['gone', 'c', 'sandbox-1']);
});
