// The podresources API of a kubelet: the devices and CPUs of each container.
import { join } from 'node:path';
import { callOnce } from '../../examples/device-plugin/grpc.ts';
import {
  type AllocatableResourcesResponse,
  type ContainerResources,
  type ListPodResourcesResponse,
  PodResourcesListerDefinition,
} from '../../src/api/kubelet/generated/podresources/v1/api.ts';
import type { Kubelet } from '../rig/kubelet.ts';
import { waitFor } from '../rig/wait.ts';

const socketOf = (kubelet: Kubelet): string => join(kubelet.rootDir, 'pod-resources', 'kubelet.sock');

/** `cpus=1 example.com/sample=0,2` by `pod/container`; containers without either are omitted. */
export async function listPodResources(kubelet: Kubelet): Promise<Readonly<Record<string, string>>> {
  const { podResources } = await callOnce<ListPodResourcesResponse>(
    socketOf(kubelet),
    PodResourcesListerDefinition,
    'list',
    {},
  );
  const found = podResources.flatMap(({ name, containers }) =>
    containers.map((each): readonly [string, string] => [`${name}/${each.name}`, describe(each)]),
  );
  return Object.fromEntries(found.filter(([, text]) => text !== '').toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function describe({ cpuIds, devices }: ContainerResources): string {
  const ids = new Map<string, string[]>();
  for (const { resourceName, deviceIds } of devices)
    ids.set(resourceName, [...(ids.get(resourceName) ?? []), ...deviceIds]);
  const listed = [...ids].map(([resource, each]) => `${resource}=${each.toSorted().join(',')}`).toSorted();
  return [...(cpuIds.length === 0 ? [] : [`cpus=${cpuIds.join(',')}`]), ...listed].join(' ');
}

/** What the node can give at most, used or not. */
export async function allocatableResources(
  kubelet: Kubelet,
): Promise<{ readonly cpus: readonly number[]; readonly devices: Readonly<Record<string, number>> }> {
  const { cpuIds, devices } = await callOnce<AllocatableResourcesResponse>(
    socketOf(kubelet),
    PodResourcesListerDefinition,
    'getAllocatableResources',
    {},
  );
  const counts: Record<string, number> = {};
  for (const { resourceName, deviceIds } of devices)
    counts[resourceName] = (counts[resourceName] ?? 0) + deviceIds.length;
  return { cpus: cpuIds.map(Number), devices: counts };
}

/** Waits until the running kubelet has these devices; unlike the Node, it forgets them when it stops. */
export async function untilAllocatable(
  kubelet: Kubelet,
  wanted: Readonly<Record<string, number>>,
): Promise<void> {
  await waitFor(
    async () => {
      const { devices } = await allocatableResources(kubelet);
      if (Object.entries(wanted).every(([resource, count]) => devices[resource] === count)) return true;
      throw new Error(JSON.stringify(devices));
    },
    `the kubelet to have ${JSON.stringify(wanted)}`,
  );
}
