// A rig with one running kubelet for all tests of a suite: call in the body of `describeOnRig`, which the hooks belong
// to.
import { afterAll, afterEach, beforeAll, beforeEach, onTestFailed } from 'vitest';
import type { Kubelet, KubeletOptions } from '../rig/kubelet.ts';
import { type Rig, type RigOptions, startRig } from '../rig/rig.ts';
import { type Cluster, startCluster } from './cluster.ts';
import { TestPods } from './test-pods.ts';

interface SuiteNode {
  readonly rig: Rig;
  readonly kubelet: Kubelet;
}

interface ClusterNode extends SuiteNode {
  readonly cluster: Cluster;
}

const nodeName = 'node1';

/**
 * Starts a kubelet without an API server and hands it to `onStarted`. The static pods that a test writes through the
 * returned value are removed at the test's end.
 */
export function useNode(
  onStarted: (node: SuiteNode) => void,
  optionsOf: (rig: Rig) => KubeletOptions = () => ({}),
): TestPods {
  let rig: Rig;
  let kubelet: Kubelet;
  const pods = new TestPods(() => kubelet);
  beforeAll(async () => {
    rig = await startRig();
    kubelet = await rig.kubelet(optionsOf(rig));
    onStarted({ rig, kubelet });
  });
  afterAll(() => rig.stop());
  afterEach(() => pods.removeAll());
  return pods;
}

/**
 * Starts a kubelet that has joined a cluster, waits until its node is Ready, and hands both to `onStarted`. A test that
 * fails prints the pods and the end of the kubelet's log.
 */
export function useClusterNode(
  onStarted: (node: ClusterNode) => void,
  optionsOf: (cluster: Cluster) => KubeletOptions = () => ({}),
  rigOptions: RigOptions = {},
): void {
  let rig: Rig;
  let cluster: Cluster;
  let kubelet: Kubelet;
  beforeAll(async () => {
    rig = await startRig(rigOptions);
    cluster = await startCluster(rig, nodeName);
    const flags = [`--kubeconfig=${cluster.kubeconfig}`];
    kubelet = await rig.kubelet({ nodeName, flags, ...optionsOf(cluster) });
    await cluster.untilNodeReady();
    onStarted({ rig, cluster, kubelet });
  });
  afterAll(async () => {
    await rig.stop();
    await cluster.stop();
  });
  beforeEach(() => onTestFailed(() => console.error(cluster.describeState(kubelet))));
}
