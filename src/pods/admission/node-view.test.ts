import { expect, test } from 'vitest';
import { aPod } from '../../../test/builders/builders.ts';
import { FakeCri } from '../../../test/fake-cri/fake-cri.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import type { Node, Pod } from '../../api/k8s/types.ts';
import { KubeletError } from '../../base/errors.ts';
import { NodeView } from './node-view.ts';

const signal = new AbortController().signal;
const strict = aPod({ securityContext: { supplementalGroupsPolicy: 'Strict' } });

function view(supported: boolean | undefined, apiNode?: Node) {
  const clock = new FakeClock(0);
  const runtime = new FakeCri({
    clock,
    ...(supported !== undefined && { supplementalGroupsPolicy: supported }),
  });
  const node = new NodeView({
    ownNode: { get: () => apiNode },
    fetch: undefined,
    runtime,
    budget: { allocatable: () => new Map(), maxPods: () => 110 },
    nodeName: 'n',
    architecture: 'amd64',
    labels: { zone: 'a' },
    taints: [],
  });
  const forPod = async (pod: Pod): Promise<Node> => node.current(await node.features(pod, signal));
  return { forPod, runtime };
}

test('without an API server the node has its labels and the features of the runtime', async () => {
  const { metadata, status } = await view(true).forPod(strict);
  expect(metadata?.labels).toEqual({
    'kubernetes.io/hostname': 'n',
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': 'amd64',
    zone: 'a',
  });
  expect(status).toEqual({ allocatable: { pods: '110' }, features: { supplementalGroupsPolicy: true } });
});

test.each([false, undefined])('a runtime that reports %s does not support the policy', async (supported) => {
  const reported: Node = { status: { features: { supplementalGroupsPolicy: true } } };
  const { status } = await view(supported, reported).forPod(strict);
  expect(status?.features).toEqual({ supplementalGroupsPolicy: false });
});

test('the features of the runtime take precedence over those that the node reported before', async () => {
  const reported: Node = { status: { features: { supplementalGroupsPolicy: false } } };
  const { status } = await view(true, reported).forPod(strict);
  expect(status?.features).toEqual({ supplementalGroupsPolicy: true });
});

test('an unavailable runtime delays the pods that need its features, and no other', async () => {
  const { forPod, runtime } = view(true);
  runtime.faults.fail('status', new KubeletError('unavailable', 'Down', 'runtime is down'), { times: 1 });
  expect((await forPod(aPod())).status).toEqual({ allocatable: { pods: '110' } });
  await expect(forPod(strict)).rejects.toThrow('runtime is down');
});
