// Garbage collection on a real containerd: dead containers by the flags, finished and evicted pods, dead links.
import { existsSync, readdirSync, renameSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { criLabels } from '../src/api/cri/labels.ts';
import type { Pod } from '../src/api/k8s/types.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import type { Rig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import type { Cluster } from './support/cluster.ts';
import { container, manifest } from './support/manifest.ts';
import { untilContainer } from './support/pod-state.ts';
import { useClusterNode, useNode } from './support/suite-node.ts';

const config = { crashLoopBackOff: { maxContainerRestartPeriod: '1s' } };
const crashing = (name: string): Pod => manifest(name, { containers: [container('main', 'exit 1')] });

async function ids(rig: Rig, podName: string): Promise<readonly string[]> {
  const filter = { labelSelector: { [criLabels.podName]: podName } };
  return (await rig.cri.listContainers({ filter })).containers.map(({ id }) => id);
}

describeOnRig('garbage collection with two dead containers per name', () => {
  let rig: Rig;
  let kubelet: Kubelet;
  const pods = useNode(
    (node) => ({ rig, kubelet } = node),
    () => ({ config, flags: ['--maximum-dead-containers-per-container=2'] }),
  );

  test('a crashing container leaves two dead ones with their logs', async () => {
    pods.write('crash', crashing('crash'));
    await untilContainer(kubelet, 'crash', 'restarted', ({ restartCount }) => restartCount >= 4);
    const name = `crash-${kubelet.nodeName}`;
    await waitFor(async () => (await ids(rig, name)).length <= 3, 'older containers to be removed', 10_000);
    expect((await ids(rig, name)).length).toBeGreaterThanOrEqual(2);
    const [directory = ''] = readdirSync(kubelet.podLogsDir);
    expect(readdirSync(join(kubelet.podLogsDir, directory, 'main')).length).toBeLessThanOrEqual(3);
  });
});

describeOnRig('garbage collection with no dead containers', () => {
  let rig: Rig;
  let cluster: Cluster;
  let kubelet: Kubelet;
  useClusterNode(
    (node) => ({ rig, cluster, kubelet } = node),
    ({ kubeconfig }) => ({
      config,
      flags: [`--kubeconfig=${kubeconfig}`, '--maximum-dead-containers-per-container=0'],
    }),
  );

  const logDirectory = (name: string): string =>
    join(kubelet.podLogsDir, `default_${name}_${cluster.pod(name)?.metadata?.uid}`);
  const linksOf = (name: string): readonly string[] => {
    const directory = join(dirname(kubelet.podLogsDir), 'containers');
    return readdirSync(directory)
      .filter((each) => each.startsWith(`${name}_`))
      .map((each) => join(directory, each));
  };
  const exitCodes = (name: string): readonly unknown[] =>
    (cluster.pod(name)?.status?.containerStatuses ?? []).map(({ state }) => state?.terminated?.exitCode);

  test('finished and evicted pods lose their containers, but not their status', async () => {
    cluster.createPod(
      manifest('job', {
        restartPolicy: 'Never',
        containers: [container('one', 'exit 0'), container('two', 'exit 3')],
      }),
    );
    for (const name of ['victim', 'live', 'rotating']) cluster.createPod(manifest(name));
    cluster.createPod(crashing('crash'));
    for (const name of ['victim', 'live', 'rotating']) await cluster.untilReady(name);
    await cluster.untilPod('job', 'to fail', ({ phase }) => phase === 'Failed');
    await cluster.untilPod('crash', 'to restart', ({ containerStatuses }) =>
      (containerStatuses ?? []).some(({ restartCount }) => restartCount >= 2),
    );
    expect((await ids(rig, 'crash')).length).toBeLessThanOrEqual(2);
    expect((await ids(rig, 'job')).length).toBe(2);
    expect(existsSync(logDirectory('victim'))).toBe(true);
    const [liveId] = await ids(rig, 'live');

    await kubelet.kill9();
    // As the killed kubelet has reported an eviction.
    const status = { phase: 'Failed', reason: 'Evicted', message: 'low on memory. ' };
    cluster.double.objects.patch('pods', 'default', 'victim', { status }, 'status');
    const [rotatingLink = ''] = linksOf('rotating');
    // The moment between the two steps of a rotation.
    const log = join(logDirectory('rotating'), 'main', '0.log');
    renameSync(log, `${log}.20261118-120000`);
    const links = dirname(rotatingLink);
    const deadLink = join(links, `gone_default_main-${'0'.repeat(64)}.log`);
    symlinkSync('/nonexistent/0.log', deadLink);
    await kubelet.start();

    const isCollected = async (): Promise<boolean> =>
      (await ids(rig, 'job')).length + (await ids(rig, 'victim')).length === 0 && !existsSync(deadLink);
    await waitFor(isCollected, 'the garbage to be collected', 20_000);
    await waitFor(() => !existsSync(logDirectory('victim')), 'the logs of the evicted pod to go', 5_000);
    const hasSandbox = async (): Promise<boolean> =>
      (await rig.cri.listPodSandbox({})).items.some(({ metadata }) => metadata?.name === 'victim');
    await waitFor(async () => !(await hasSandbox()), 'the sandbox of the evicted pod to go', 5_000);
    expect(exitCodes('job')).toEqual([0, 3]);
    expect([exitCodes('victim'), cluster.pod('victim')?.status?.reason]).toEqual([[0], 'Evicted']);
    expect(linksOf('rotating')).toEqual([rotatingLink]);
    expect(await ids(rig, 'live')).toEqual([liveId]);
  });
});
