// What the CPU, memory and device managers grant to a container: resources/ grants it, runtime/ passes it to the CRI.
// Upstream: RunContainerOptions of the device manager and the InternalContainerLifecycle in pkg/kubelet/cm.
import type { Container, Pod } from '../k8s/types.ts';
import type { PodUid } from '../pod/pod-ref.ts';

export interface DeviceNode {
  readonly hostPath: string;
  readonly containerPath: string;
  /** Of the cgroup: r, w, m. */
  readonly permissions: string;
}

export interface DeviceMount {
  readonly hostPath: string;
  readonly containerPath: string;
  readonly readOnly: boolean;
}

/** What the device plugins add to a container. */
export interface DeviceGrants {
  readonly env: ReadonlyMap<string, string>;
  readonly mounts: readonly DeviceMount[];
  readonly devices: readonly DeviceNode[];
  readonly annotations: ReadonlyMap<string, string>;
  /** Fully qualified names of CDI devices. */
  readonly cdiDevices: readonly string[];
}

export interface ContainerGrants extends DeviceGrants {
  /** cpuset.cpus: the container's own CPUs or the shared ones; undefined if the runtime decides. */
  readonly cpus: string | undefined;
  /** cpuset.mems; undefined if the runtime decides. */
  readonly memoryNodes: string | undefined;
}

export interface ExclusiveResources {
  /** Called before every creation of the container. Device plugins that require it prepare the devices. */
  grants(pod: Pod, container: Container, signal: AbortSignal): Promise<ContainerGrants>;
  /** The runtime has started the container. */
  started(pod: Pod, container: Container): void;
  /** Whether this container has CPUs of its own, or any container of the pod: neither it nor the pod gets a CFS quota then. */
  hasExclusiveCpus(uid: PodUid, container?: string): boolean;
}

/** Of a container that has nothing for itself. */
export const noGrants: ContainerGrants = {
  cpus: undefined,
  memoryNodes: undefined,
  env: new Map(),
  mounts: [],
  devices: [],
  annotations: new Map(),
  cdiDevices: [],
};
