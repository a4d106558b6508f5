// What the API reads of the device, CPU and memory managers. Upstream: DevicesProvider, CPUsProvider and MemoryProvider in
// pkg/kubelet/apis/podresources/types.go.
import type { PodUid } from '../api/pod/pod-ref.ts';

export interface HeldDevice {
  /** `vendor.example/gpu` */
  readonly resource: string;
  readonly id: string;
  /** Undefined if the plugin reports none. */
  readonly numaNodes: readonly number[] | undefined;
}

export interface HeldMemory {
  /** `memory`, `hugepages-2Mi` */
  readonly type: string;
  /** In bytes. */
  readonly size: bigint | number;
  readonly numaAffinity: readonly number[];
}

export interface ResourceViews {
  readonly devices: {
    /** Empty for pods that have ended. */
    devicesOf(uid: PodUid, container: string): readonly HeldDevice[];
    /** Every healthy device, in use or not. */
    allocatableDevices(): readonly HeldDevice[];
  };
  readonly cpus: {
    /** Empty for a container on shared CPUs. */
    exclusiveCpus(uid: PodUid, container: string): readonly number[];
    /** Every CPU that is not reserved, in use or not; none without exclusive CPUs. */
    allocatable(): readonly number[];
  };
  readonly memory: {
    blocks(uid: PodUid, container: string): readonly HeldMemory[];
    /** Per NUMA node and type, in use or not. */
    allocatable(): readonly HeldMemory[];
  };
}

/** The views of a node whose managers grant nothing. */
export const noResources: ResourceViews = {
  devices: { devicesOf: () => [], allocatableDevices: () => [] },
  cpus: { exclusiveCpus: () => [], allocatable: () => [] },
  memory: { blocks: () => [], allocatable: () => [] },
};
