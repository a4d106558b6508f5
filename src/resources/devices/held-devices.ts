// The devices that containers hold, with the plugin's response or still reserved. Upstream: pod_devices.go of
// pkg/kubelet/cm/devicemanager, with allocatedDevices as an index.
// Invariant: two containers hold the same device only if they belong to the same pod (an init container and its successor).
import { ContainerAllocateResponse } from '../../api/kubelet/generated/deviceplugin/v1beta1/api.ts';
import { asPodUid, type PodUid } from '../../api/pod/pod-ref.ts';
import type { PluginDevice } from '../../api/ports/device-plugins.ts';
import type { NumaMask } from '../topology/numa-nodes.ts';
import { decodeResponse, encodeResponse } from './allocate-response.ts';
import { type DeviceEntry, type RenderedEntry, renderEntry, withoutNumaNode } from './device-checkpoint.ts';

/** What one container holds of one resource. Replaced, never changed: by its identity a caller recognises that it is still current. */
export interface Holding {
  readonly uid: PodUid;
  readonly container: string;
  readonly resource: string;
  /** Sorted. */
  readonly ids: readonly string[];
  /** By NUMA node as of the allocation; -1: without. */
  readonly byNode: ReadonlyMap<number, readonly string[]>;
  /** Of the merged topology hint; used until the plugin has chosen. */
  readonly mask: NumaMask | undefined;
  /** Undefined while only reserved. */
  readonly response: ContainerAllocateResponse | undefined;
  /** Its part of the checkpoint; undefined while only reserved. */
  readonly rendered: RenderedEntry | undefined;
  /** Whether the plugin has to allocate once more: the record has the devices only. */
  readonly isStale: boolean;
}

type HoldingKey = Pick<Holding, 'uid' | 'container' | 'resource'>;

export function reservation(
  key: HoldingKey,
  ids: readonly string[],
  devices: ReadonlyMap<string, Pick<PluginDevice, 'numaNodes'>>,
  mask: NumaMask | undefined,
): Holding {
  const { container, resource, uid } = key;
  const byNode = groupByNode(ids, devices);
  return {
    uid,
    container,
    resource,
    ids,
    byNode,
    mask,
    response: undefined,
    rendered: undefined,
    isStale: false,
  };
}

/** The holding with the plugin's response: from now on it is part of the checkpoint. */
export function answered(held: Holding, response: ContainerAllocateResponse): Holding {
  const rendered = renderEntry(entryOf(held, encodeResponse(response)));
  return { ...held, response, rendered, isStale: false };
}

/** An entry of a checkpoint. One without a response keeps its devices; the plugin allocates once more before the next start. */
export function restored(entry: DeviceEntry): Holding {
  const decoded = entry.response.length === 0 ? undefined : decodeResponse(entry.response);
  return {
    uid: asPodUid(entry.podUid),
    container: entry.container,
    resource: entry.resource,
    ids: [...new Set([...entry.devices.values()].flat())].toSorted(),
    byNode: entry.devices,
    mask: undefined,
    response: decoded ?? ContainerAllocateResponse.create(),
    rendered: renderEntry(entry),
    isStale: decoded === undefined,
  };
}

function entryOf(held: Holding, response: Uint8Array): DeviceEntry {
  return {
    podUid: held.uid,
    container: held.container,
    resource: held.resource,
    devices: held.byNode,
    response,
  };
}

function groupByNode(
  ids: readonly string[],
  devices: ReadonlyMap<string, Pick<PluginDevice, 'numaNodes'>>,
): ReadonlyMap<number, readonly string[]> {
  const byNode = new Map<number, string[]>();
  for (const id of ids) {
    const nodes = devices.get(id)?.numaNodes ?? [];
    for (const node of nodes.length === 0 ? [withoutNumaNode] : new Set(nodes)) {
      const list = byNode.get(node);
      if (list === undefined) byNode.set(node, [id]);
      else list.push(id);
    }
  }
  return byNode;
}

export class HeldDevices {
  /** By pod, then by container and resource. */
  readonly #pods = new Map<PodUid, Map<string, Holding>>();
  /** By resource, then by device. */
  readonly #holders = new Map<string, Map<string, Set<Holding>>>();

  get({ container, resource, uid }: HoldingKey): Holding | undefined {
    return this.#pods.get(uid)?.get(keyOf(container, resource));
  }

  isCurrent(held: Holding): boolean {
    return this.get(held) === held;
  }

  put(held: Holding): void {
    this.remove(held);
    const pod = this.#pods.get(held.uid) ?? new Map<string, Holding>();
    this.#pods.set(held.uid, pod.set(keyOf(held.container, held.resource), held));
    const devices = this.#holders.get(held.resource) ?? new Map<string, Set<Holding>>();
    this.#holders.set(held.resource, devices);
    for (const id of held.ids) {
      const holders = devices.get(id);
      if (holders === undefined) devices.set(id, new Set([held]));
      else holders.add(held);
    }
  }

  /** Removes what the container holds of the resource. */
  remove(key: HoldingKey): void {
    const held = this.get(key);
    if (held === undefined) return;
    const pod = this.#pods.get(held.uid);
    pod?.delete(keyOf(held.container, held.resource));
    if (pod?.size === 0) this.#pods.delete(held.uid);
    const devices = this.#holders.get(held.resource);
    for (const id of held.ids) {
      const holders = devices?.get(id);
      holders?.delete(held);
      if (holders?.size === 0) devices?.delete(id);
    }
    if (devices?.size === 0) this.#holders.delete(held.resource);
  }

  /** Whether the pod held anything. */
  removePod(uid: PodUid): boolean {
    const all = this.ofPod(uid);
    for (const held of all) this.remove(held);
    return all.length > 0;
  }

  uids(): readonly PodUid[] {
    return [...this.#pods.keys()];
  }

  /** Sorted by container and resource. */
  ofPod(uid: PodUid): readonly Holding[] {
    const pod = this.#pods.get(uid);
    return pod === undefined ? [] : [...pod].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, held]) => held);
  }

  /** Sorted by resource. */
  ofContainer(uid: PodUid, container: string): readonly Holding[] {
    return this.ofPod(uid).filter((held) => held.container === container);
  }

  podsWith(resource: string, id: string): readonly PodUid[] {
    return [...new Set([...(this.#holders.get(resource)?.get(id) ?? [])].map(({ uid }) => uid))];
  }

  /**
   * The devices that no container holds, and those of `own`: they may also be held by init containers that lend them and by
   * containers that take them over, all of the same pod. Devices that only `lenders` hold are free as well.
   */
  free(
    resource: string,
    ids: readonly string[],
    own: Holding | undefined,
    lenders: readonly Holding[] = [],
  ): readonly string[] {
    const devices = this.#holders.get(resource);
    if (devices === undefined) return ids;
    return ids.filter((id) => {
      const holders = devices.get(id);
      if (holders === undefined || (own !== undefined && holders.has(own))) return true;
      return lenders.length > 0 && [...holders].every((each) => lenders.includes(each));
    });
  }

  /** Whether any container holds devices of the resource. */
  has(resource: string): boolean {
    return this.#holders.has(resource);
  }

  /** The entries of the checkpoint: sorted, without reservations. */
  rendered(): readonly RenderedEntry[] {
    return this.uids()
      .toSorted()
      .flatMap((uid) => this.ofPod(uid))
      .flatMap(({ rendered }) => (rendered === undefined ? [] : [rendered]));
  }
}

/** A container's name has no blank. */
function keyOf(container: string, resource: string): string {
  return `${container} ${resource}`;
}
