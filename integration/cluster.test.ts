// A node in a cluster: the built command, a real containerd, and the API server double with the Node authorizer
// enabled.
import { describe, expect, test } from 'vitest';
import type { Pod } from '../src/api/k8s/types.ts';
import { busyboxImage } from './rig/images.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import type { Rig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import { type Cluster, isReady, kubectlUnavailableReason } from './support/cluster.ts';
import { container, exitsOnTerm, manifest } from './support/manifest.ts';
import { useClusterNode } from './support/suite-node.ts';

/** The fields of an object down to a depth, with the types of their values. */
function shape(value: unknown, depth: number): unknown {
  if (depth === 0 || typeof value !== 'object' || value === null || Array.isArray(value)) return typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, shape(field, depth - 1)]));
}

function containerId(pod: Pod): string {
  return pod.status?.containerStatuses?.[0]?.containerID ?? '';
}

describeOnRig('cluster', () => {
  let rig: Rig;
  let cluster: Cluster;
  let kubelet: Kubelet;

  useClusterNode((node) => ({ rig, cluster, kubelet } = node));

  test('node and lease have the fields of upstream', async () => {
    const node = await cluster.untilNodeReady();
    expect(Object.keys(node.metadata?.labels ?? {}).toSorted()).toEqual([
      'beta.kubernetes.io/arch',
      'beta.kubernetes.io/os',
      'kubernetes.io/arch',
      'kubernetes.io/hostname',
      'kubernetes.io/os',
    ]);
    expect(node.metadata?.annotations).toMatchObject({
      'volumes.kubernetes.io/controller-managed-attach-detach': 'true',
    });
    expect(node.status?.addresses?.map(({ type }) => type)).toEqual(['InternalIP', 'Hostname']);
    expect(node.status?.conditions?.map(({ type, status, reason }) => [type, status, reason])).toEqual([
      ['MemoryPressure', 'False', 'KubeletHasSufficientMemory'],
      ['DiskPressure', 'False', 'KubeletHasNoDiskPressure'],
      ['PIDPressure', 'False', 'KubeletHasSufficientPID'],
      ['Ready', 'True', 'KubeletReady'],
    ]);
    expect(Object.keys(node.status?.capacity ?? {})).toEqual(
      expect.arrayContaining(['cpu', 'ephemeral-storage', 'memory', 'pods']),
    );
    expect(Object.keys(node.status?.allocatable ?? {}).toSorted()).toEqual(
      Object.keys(node.status?.capacity ?? {}).toSorted(),
    );
    expect(node.status?.daemonEndpoints).toEqual({ kubeletEndpoint: { Port: expect.any(Number) } });
    expect(shape(node.status?.nodeInfo, 1)).toMatchObject({
      architecture: 'string',
      bootID: 'string',
      containerRuntimeVersion: 'string',
      kernelVersion: 'string',
      kubeProxyVersion: 'string',
      kubeletVersion: 'string',
      machineID: 'string',
      operatingSystem: 'string',
      osImage: 'string',
      systemUUID: 'string',
    });
    expect(node.status?.nodeInfo?.containerRuntimeVersion).toMatch(/^containerd:\/\//);
    expect(node.status?.images?.length).toBeGreaterThan(0);
    const lease = await waitFor(
      () => cluster.double.objects.get('leases', 'kube-node-lease', 'node1'),
      'the lease',
      60_000,
    );
    expect(lease.metadata?.ownerReferences).toEqual([
      { apiVersion: 'v1', kind: 'Node', name: 'node1', uid: node.metadata?.uid },
    ]);
    expect(lease.spec).toEqual({
      holderIdentity: 'node1',
      leaseDurationSeconds: 40,
      renewTime: expect.stringMatching(/\.\d{6}Z$/),
    });
  });

  test('a bound pod runs, and its deletion removes containers and object', async () => {
    cluster.createPod(manifest('bound'));
    const pod = await cluster.untilReady('bound');
    expect(pod.status).toMatchObject({
      phase: 'Running',
      podIP: expect.stringMatching(/\./),
      hostIP: expect.any(String),
    });
    cluster.double.objects.delete('pods', 'default', 'bound');
    await cluster.untilGone('bound');
    const left = async (): Promise<boolean> => {
      const filter = { labelSelector: { 'io.kubernetes.pod.uid': pod.metadata?.uid ?? '' } };
      return (await rig.cri.listPodSandbox({ filter })).items.length === 0;
    };
    await waitFor(left, 'its sandbox to be removed', 60_000);
  });

  test('a pod has its token, and values of ConfigMaps and Secrets', async () => {
    const { objects } = cluster.double;
    objects.create('configmaps', {
      metadata: { name: 'words', namespace: 'default' },
      data: { greeting: 'hello' },
    });
    const value = Buffer.from('quiet').toString('base64');
    objects.create('secrets', { metadata: { name: 'hush', namespace: 'default' }, data: { word: value } });
    const fromSecret = { name: 'WORD', valueFrom: { secretKeyRef: { name: 'hush', key: 'word' } } };
    const mounted = {
      env: [fromSecret],
      volumeMounts: [{ name: 'words', mountPath: '/words' }],
    };
    const reader = manifest('reader', {
      containers: [container('main', exitsOnTerm, mounted)],
      volumes: [{ name: 'words', configMap: { name: 'words' } }],
    });
    cluster.createPod(reader);
    const pod = await cluster.untilReady('reader');
    const script =
      'cat /words/greeting; echo; echo $WORD; wc -c < /var/run/secrets/kubernetes.io/serviceaccount/token';
    const { stdout } = await rig.cri.execSync({
      containerId: containerId(pod).replace('containerd://', ''),
      cmd: ['sh', '-c', script],
      timeout: 20n,
    });
    expect(new TextDecoder().decode(stdout)).toMatch(/^hello\nquiet\n[1-9]\d*\n$/);
    objects.delete('pods', 'default', 'reader');
    await cluster.untilGone('reader');
  });

  test('a static pod has a mirror pod that shows its status', async () => {
    kubelet.writeManifest('static', manifest('static'));
    const mirror = await cluster.untilReady('static-node1');
    expect(mirror.metadata?.annotations).toMatchObject({
      'kubernetes.io/config.source': 'file',
      'kubernetes.io/config.seen': expect.any(String),
      'kubernetes.io/config.mirror': mirror.metadata?.annotations?.['kubernetes.io/config.hash'],
    });
    expect(mirror.metadata?.ownerReferences).toEqual([
      { apiVersion: 'v1', kind: 'Node', name: 'node1', uid: cluster.node()?.metadata?.uid, controller: true },
    ]);
    kubelet.removeManifest('static');
    await cluster.untilGone('static-node1');
  });

  test('containers keep running over a kubelet restart during an outage, and statuses are reported afterwards', async () => {
    cluster.createPod(manifest('steady'));
    const before = await cluster.untilReady('steady');
    cluster.double.faults.goDown();
    await kubelet.stop();
    await kubelet.start();
    kubelet.writeManifest('meanwhile', manifest('meanwhile'));
    await waitFor(
      async () => isReady((await kubelet.pod('meanwhile'))?.status ?? {}),
      'a static pod to run without the API server',
      60_000,
    );
    cluster.double.faults.comeUp();
    await cluster.untilReady('meanwhile-node1');
    const after = await cluster.untilReady('steady');
    expect(containerId(after)).toBe(containerId(before));
    expect(after.status?.containerStatuses?.[0]?.restartCount).toBe(0);
    kubelet.removeManifest('meanwhile');
    cluster.double.objects.delete('pods', 'default', 'steady');
    await cluster.untilGone('steady');
  });

  describe.skipIf(kubectlUnavailableReason !== undefined)(
    `kubectl${kubectlUnavailableReason === undefined ? '' : ` (${kubectlUnavailableReason})`}`,
    () => {
      test('get nodes, run, wait, describe, delete', async () => {
        expect(await cluster.kubectl('get', 'nodes')).toMatch(/node1\s+Ready/);
        const image = [`--image=${busyboxImage}`, '--image-pull-policy=IfNotPresent', '--grace-period=1'];
        const run = [
          'run',
          'web',
          ...image.slice(0, 2),
          '--restart=Always',
          '--command',
          '--',
          'sh',
          '-c',
          exitsOnTerm,
        ];
        await cluster.kubectl(...run);
        await cluster.kubectl('wait', '--for=condition=Ready', 'pod/web', '--timeout=80s');
        // Events are asynchronous and may arrive later.
        const described = await waitFor(
          async () => {
            const text = await cluster.kubectl('describe', 'pod', 'web');
            return /Started\s/.test(text) && text;
          },
          'the event Started',
          60_000,
        );
        expect(described).toMatch(/Node:\s+node1\//);
        expect(described).toMatch(/Status:\s+Running/);
        expect(await cluster.kubectl('describe', 'node', 'node1')).toMatch(/KubeletReady/);
        await cluster.kubectl('delete', 'pod', 'web', '--grace-period=1');
        await cluster.untilGone('web');
      });
    },
  );

  test('no request was beyond the rights of a node', () => {
    const own = ['nodes', 'leases', 'pods', 'events'];
    const refused = cluster.double.requests.filter(
      ({ code, resource }) => code === 403 && own.includes(resource),
    );
    expect(refused).toEqual([]);
  });
});
