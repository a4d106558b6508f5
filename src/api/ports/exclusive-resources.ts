// What the CPU, memory and device managers grant to a container. Types only: resources/ grants it, runtime/ passes it to the CRI.
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
  /** Whether the CPUs are the container's own: it gets no CFS quota then. */
  readonly hasExclusiveCpus: boolean;
}

export interface ExclusiveResources {
  /** Called before every creation of the container. Device plugins that require it prepare the devices. */
  grants(pod: Pod, container: Container, signal: AbortSignal): Promise<ContainerGrants>;
  /** The runtime has started the container. */
  started(pod: Pod, container: Container): void;
  /** Whether a container of the pod has CPUs of its own: the pod's cgroup gets no CFS quota then. */
  hasExclusiveCpus(uid: PodUid): boolean;
}
