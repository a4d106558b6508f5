// supplementalGroupsPolicy: Strict on a kubelet without an API server: the runtime decides whether the node supports it.
import { expect, onTestFinished, test } from 'vitest';
import { KubeletError } from '../../../src/base/errors.ts';
import { aPod } from '../../builders/builders.ts';
import { FakeNode, type FakeNodeOptions } from '../../simulate/fake-node.ts';

const strict = aPod({ securityContext: { supplementalGroupsPolicy: 'Strict' } });

async function started(options: FakeNodeOptions): Promise<FakeNode> {
  const node = new FakeNode(options);
  onTestFinished(() => node.stop());
  await node.start();
  return node;
}

test('a static pod runs on a runtime with the feature', async () => {
  const node = await started({ supplementalGroupsPolicy: true });
  node.write('p.yaml', strict);
  await node.clock.advance(2_000);
  expect(node.status('uid-p')?.phase).toBe('Running');
});

test('a static pod is rejected on a runtime without it', async () => {
  const node = await started({});
  node.write('p.yaml', strict);
  await node.clock.advance(2_000);
  const { message, phase, reason } = node.status('uid-p') ?? {};
  expect({ message, phase, reason }).toEqual({
    phase: 'Failed',
    reason: 'SupplementalGroupsPolicyNotSupported',
    message: 'Pod was rejected: SupplementalGroupsPolicy=Strict is not supported in this node',
  });
});

test('a static pod waits while the runtime does not answer, and then runs', async () => {
  const node = await started({ supplementalGroupsPolicy: true });
  node.cri.faults.fail('status', new KubeletError('unavailable', 'Down', 'runtime is down'), { times: 2 });
  node.write('p.yaml', strict);
  await node.clock.advance(100);
  expect(node.status('uid-p')?.phase).not.toBe('Failed');
  await node.clock.advance(10_000);
  expect(node.status('uid-p')?.phase).toBe('Running');
});
