// Whole kubelets in memory with live configuration, for the proofs. Stopped at the end of the test.
import { onTestFinished } from 'vitest';
import type { Pod } from '../../../../src/api/k8s/types.ts';
import { Duration } from '../../../../src/config/duration.ts';
import type { KubeletConfiguration } from '../../../../src/config/table/kubelet-configuration.ts';
import { aContainer, aPod, type PodOver } from '../../../builders/builders.ts';
import { FakeNode, type FakeNodeOptions } from '../../../simulate/fake-node.ts';

/** Proofs by the path of the field. */
export type Proofs = Readonly<Record<string, () => Promise<void>>>;

export const seconds = (count: number): Duration => Duration.ofMs(count * 1_000);
export const minutes = (count: number): Duration => seconds(60 * count);

/** A node that is not started. */
function aLiveNode(
  config: Partial<KubeletConfiguration> = {},
  options: Omit<FakeNodeOptions, 'config' | 'live'> = {},
): FakeNode {
  const node = new FakeNode({ ...options, config, live: true });
  onTestFinished(() => node.stop());
  return node;
}

/** `prepare` is called before the start. */
export async function startLive(
  config: Parameters<typeof aLiveNode>[0] = {},
  options: Parameters<typeof aLiveNode>[1] = {},
  prepare: (node: FakeNode) => void = () => undefined,
): Promise<FakeNode> {
  const node = aLiveNode(config, options);
  prepare(node);
  await node.start();
  await node.clock.advance(1_000);
  return node;
}

/** A pod of one container with its name and an image of its own. */
function podOf(name: string, over: PodOver = {}): Pod {
  return aPod({ name, containers: [aContainer({ name, image: `example.com/${name}:1` })], ...over });
}

/** Writes the manifest of such a pod. */
export function addPod(node: FakeNode, name: string, over: PodOver = {}): void {
  node.cri.publishImage({ name: `example.com/${name}:1`, sizeBytes: 14_000_000 });
  node.write(`${name}.yaml`, podOf(name, over));
}

/** Writes it and waits for its start. */
export async function runPod(node: FakeNode, name: string, over: PodOver = {}): Promise<void> {
  addPod(node, name, over);
  await node.clock.advance(3_000);
}
