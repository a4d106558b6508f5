// podresources of the built command on its socket, with grpc-js as the client.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PodResourcesClient } from '../test/clients/pod-resources-client.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { waitFor } from './rig/wait.ts';
import { manifest } from './support/manifest.ts';
import { untilRunning } from './support/pod-state.ts';
import { useNode } from './support/suite-node.ts';

describeOnRig('pod resources', () => {
  let kubelet: Kubelet;
  const pods = useNode((node) => {
    ({ kubelet } = node);
  });

  test('lists a static pod by its own name until it has ended', async () => {
    const client = new PodResourcesClient(join(kubelet.rootDir, 'pod-resources', 'kubelet.sock'));
    try {
      pods.write('web', manifest('web'));
      const { metadata, spec } = await untilRunning(kubelet, 'web');
      const name = metadata?.name ?? '';
      const containers = (spec?.containers ?? []).map((each) => each.name);
      const listed = await client.list();
      expect(listed.map((pod) => [pod.namespace, pod.name, pod.containers.map((each) => each.name)])).toEqual(
        [['default', name, containers]],
      );
      expect(await client.listAlpha()).toEqual([name]);
      expect(await client.get('default', name)).toEqual(listed[0]);
      expect(Object.keys(await client.allocatable())).toEqual(['devices', 'cpuIds', 'memory']);
      pods.remove('web');
      await waitFor(async () => (await client.list()).length === 0, 'the end of the pod', 20_000);
      await expect(client.get('default', name)).rejects.toThrow(
        `UNKNOWN: pod ${name} in namespace default not found`,
      );
      const { text } = await kubelet.secure('/metrics');
      expect(text).toContain(
        'kubelet_pod_resources_endpoint_requests_total{server_api_version="v1alpha1"} 1',
      );
      expect(text).toContain('kubelet_pod_resources_endpoint_errors_get{server_api_version="v1"} 1');
    } finally {
      client.close();
    }
  });
});
