// Clusters whose node keeps its pods for a cut-off: it is powered off, boots without its API server, and shows what it keeps.
import { ContainerState } from '../../src/api/cri/generated/runtime/v1/api.ts';
import type { PodSpec } from '../../src/api/k8s/types.ts';
import { aContainer } from '../builders/builders.ts';
import { type ClusterWorld, startCluster } from './cluster-world.ts';
import type { FakeNodeOptions } from './fake-node.ts';

export const directory = '/var/lib/kubelet/autonomy';
export const password = 'hunter2-of-the-database';

/** A pod that uses a ConfigMap, a Secret and a token. */
export function useObjects(): Partial<PodSpec> {
  return {
    serviceAccountName: 'default',
    volumes: [
      { name: 'conf', configMap: { name: 'conf' } },
      { name: 'token', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } },
    ],
    containers: [
      aContainer({
        env: [{ name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'cred', key: 'password' } } }],
        volumeMounts: [
          { name: 'conf', mountPath: '/conf' },
          { name: 'token', mountPath: '/token' },
        ],
      }),
    ],
  };
}

export type Autonomy = 'Off' | 'WithoutSecrets' | 'WithSecrets';

export async function start(
  autonomy: Autonomy = 'WithSecrets',
  options: FakeNodeOptions = {},
): Promise<ClusterWorld> {
  const world = await startCluster({ ...options, flags: { autonomy } });
  world.api.objects.create('configmaps', {
    metadata: { name: 'conf', namespace: 'default' },
    data: { value: '1' },
  });
  world.api.objects.create('secrets', {
    metadata: { name: 'cred', namespace: 'default' },
    data: { password: Buffer.from(password).toString('base64') },
  });
  return world;
}

/** Ends all containers and mounts while the kubelet is down, as a reboot does. */
export async function powerOff(world: ClusterWorld): Promise<void> {
  await world.node.kill();
  for (const id of running(world)) world.node.cri.exitContainer(id, 255);
  for (const { id } of await sandboxes(world)) world.node.cri.killSandbox(id);
  world.node.volumes.mounts.length = 0;
  world.node.volumes.contents.clear();
}

export async function sandboxes(world: ClusterWorld): Promise<readonly { readonly id: string }[]> {
  const { items } = await world.node.clock.until(world.node.cri.listPodSandbox({}));
  return items;
}

/** A reboot while the API server cannot be reached. */
export async function rebootCutOff(world: ClusterWorld): Promise<void> {
  world.api.faults.goDown();
  await powerOff(world);
  await world.node.start();
  await world.advance(10_000);
}

export function running(world: ClusterWorld): readonly string[] {
  return world.node.cri
    .containers()
    .filter(({ state }) => state === ContainerState.CONTAINER_RUNNING)
    .map(({ id }) => id);
}

export function uid(world: ClusterWorld, name: string): string {
  return world.pod(name)?.metadata?.uid ?? '';
}

/** The content of a record, by its kind and what its header has. */
export function recordsOf(world: ClusterWorld, kind: string): readonly (readonly [string, string])[] {
  return [...world.node.keptFiles].filter(([path]) => path.startsWith(`${directory}/${kind}/`));
}
