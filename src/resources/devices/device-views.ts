// What other components read about devices: podresources, the status of pods. Pure functions of the two stores.
// Upstream: GetDevices, GetAllocatableDevices and UpdateAllocatedResourcesStatus of
// pkg/kubelet/cm/devicemanager. Invariant: sorted, so that a status does not change without reason.
import type { ResourceStatus } from '../../api/k8s/types.ts';
import type { PodUid } from '../../api/pod/pod-ref.ts';
import { withoutNumaNode } from './device-checkpoint.ts';
import type { DeviceInventory } from './device-inventory.ts';
import type { HeldDevices, Holding } from './held-devices.ts';

export interface ResourceDevice {
  readonly resource: string;
  readonly id: string;
  /** Ascending; empty without topology. */
  readonly numaNodes: readonly number[];
}

/** What the plugins allocated to the container; reservations are absent. */
export function devicesOf(held: HeldDevices, uid: PodUid, container: string): readonly ResourceDevice[] {
  return held
    .ofContainer(uid, container)
    .filter(({ response }) => response !== undefined)
    .flatMap((each) => each.ids.map((id) => ({ resource: each.resource, id, numaNodes: nodesOf(each, id) })));
}

function nodesOf({ byNode }: Holding, id: string): readonly number[] {
  return [...byNode]
    .filter(([node, ids]) => node !== withoutNumaNode && ids.includes(id))
    .map(([node]) => node)
    .toSorted((a, b) => a - b);
}

/** All healthy devices, in use or not. */
export function allocatableDevices(inventory: DeviceInventory): readonly ResourceDevice[] {
  return [...inventory.registered()].flatMap(([resource, ids]) =>
    ids.map((id) => {
      const nodes = inventory.get(resource)?.devices.get(id)?.numaNodes ?? [];
      return { resource, id, numaNodes: [...new Set(nodes)].toSorted((a, b) => a - b) };
    }),
  );
}

/** A device that its plugin does not report counts as healthy, as upstream. */
export function statusOf(
  held: HeldDevices,
  inventory: DeviceInventory,
  uid: PodUid,
  container: string,
): readonly ResourceStatus[] {
  return held
    .ofContainer(uid, container)
    .filter(({ response }) => response !== undefined)
    .map(({ ids, resource }) => {
      const devices = inventory.get(resource)?.devices;
      const resources = ids.map((id) => ({
        resourceID: id,
        health: devices?.get(id)?.healthy === false ? 'Unhealthy' : 'Healthy',
      }));
      return { name: resource, resources };
    });
}
