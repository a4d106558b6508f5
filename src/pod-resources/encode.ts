// Serializes the answers of podresources piece by piece, with a pause between slices: a node may have tens of thousands of
// devices. Invariant: pieces follow the order of the fields, so that the bytes equal those of a single serialization.
// The concatenation of two serialized messages is their merge, which is why lists can be split anywhere.
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { Pod } from '../api/k8s/types.ts';
import {
  AllocatableResourcesResponse,
  type ContainerDevices,
  ContainerResources,
  PodResources,
} from '../api/kubelet/generated/podresources/v1/api.ts';
import { longRunningContainers } from '../api/pod/find-container.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { Slices } from '../base/slices.ts';
import { cpuIds, deviceEntries, memoryEntries, sortDevices, withoutTopology } from './convert.ts';
import type { HeldDevice, ResourceViews } from './resource-views.ts';

export type ApiVersion = 'v1' | 'v1alpha1';

/** Devices that are converted and serialized at once. */
const chunkDevices = 256;

/** A serialized message, or a part of one. */
interface Bytes {
  readonly pieces: readonly Uint8Array[];
  readonly length: number;
}

export class ResourcesEncoder {
  readonly #views: ResourceViews;
  readonly #slices: Slices;

  constructor(views: ResourceViews, slices: Slices) {
    this.#views = views;
    this.#slices = slices;
  }

  /** The field pod_resources of a response. The fields of v1alpha1 have the same numbers as those of v1. */
  async pod(uid: PodUid, pod: Pod, version: ApiVersion): Promise<readonly Uint8Array[]> {
    const { name = '', namespace = '' } = pod.metadata ?? {};
    const head = PodResources.fromPartial({ name, namespace });
    const parts = [joined([PodResources.encode(head).finish()])];
    // Upstream's v1alpha1 knows no sidecars.
    const containers = version === 'v1' ? longRunningContainers(pod) : (pod.spec?.containers ?? []);
    for (const container of containers)
      parts.push(nested(3, await this.#container(uid, container.name, version)));
    return nested(1, joined(parts.flatMap(({ pieces }) => pieces))).pieces;
  }

  async #container(uid: PodUid, name: string, version: ApiVersion): Promise<Bytes> {
    const { cpus, devices, memory } = this.#views;
    const pieces = [ContainerResources.encode(ContainerResources.fromPartial({ name })).finish()];
    await this.#inChunks(devices.devicesOf(uid, name), (entries) => {
      const shown = version === 'v1' ? entries : withoutTopology(entries);
      pieces.push(ContainerResources.encode({ ...emptyContainer, devices: shown }).finish());
    });
    if (version === 'v1') {
      const rest = {
        ...emptyContainer,
        cpuIds: cpuIds(cpus.exclusiveCpus(uid, name)),
        memory: memoryEntries(memory.blocks(uid, name)),
      };
      pieces.push(ContainerResources.encode(rest).finish());
    }
    return joined(pieces);
  }

  /** AllocatableResourcesResponse. */
  async allocatable(): Promise<readonly Uint8Array[]> {
    const { cpus, devices, memory } = this.#views;
    const pieces: Uint8Array[] = [];
    await this.#inChunks(devices.allocatableDevices(), (entries) => {
      const part = { devices: entries, cpuIds: [], memory: [] };
      pieces.push(AllocatableResourcesResponse.encode(part).finish());
    });
    const rest = {
      devices: [],
      cpuIds: cpuIds(cpus.allocatable()),
      memory: memoryEntries(memory.allocatable()),
    };
    pieces.push(AllocatableResourcesResponse.encode(rest).finish());
    return pieces;
  }

  async #inChunks(
    devices: readonly HeldDevice[],
    encode: (entries: ContainerDevices[]) => void,
  ): Promise<void> {
    const sorted = sortDevices(devices);
    for (let at = 0; at < sorted.length; at += chunkDevices) {
      await this.#slices.yieldIfDue();
      encode(deviceEntries(sorted.slice(at, at + chunkDevices)));
    }
  }
}

const emptyContainer: ContainerResources = {
  name: '',
  devices: [],
  cpuIds: [],
  memory: [],
  dynamicResources: [],
};

function joined(pieces: readonly Uint8Array[]): Bytes {
  return { pieces, length: pieces.reduce((sum, piece) => sum + piece.length, 0) };
}

/** The message as a field of another one. */
function nested(field: number, { length, pieces }: Bytes): Bytes {
  const head = new BinaryWriter().tag(field, WireType.LengthDelimited).uint32(length).finish();
  return { pieces: [head, ...pieces], length: head.length + length };
}
