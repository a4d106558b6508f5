// What pods and containers have for themselves, from the CPU, memory and device managers, as admission, the workers and the runtime
// see it. Holds no state. Upstream: the container manager in pkg/kubelet/cm and its internal container lifecycle.
// Invariant: a container is created only after everything that it was allocated is on disk, and exclusive CPUs are given to it
// only after the other containers have left them.
import type { Container, Pod } from '../../api/k8s/types.ts';
import { type PodUid, podUid } from '../../api/pod/pod-ref.ts';
import type {
  ContainerGrants,
  DeviceGrants,
  ExclusiveResources,
} from '../../api/ports/exclusive-resources.ts';
import type { CpuSet } from '../cpu/cpu-set.ts';

interface Rejection {
  readonly reason: string;
  readonly message: string;
}

interface PodWait extends Rejection {
  readonly untilMs: number;
}

interface ManagedResourcesDeps {
  readonly topology: { admit(pod: Pod): Rejection | undefined; release(uid: PodUid): void };
  readonly devices: {
    isDeviceResource(resource: string): boolean;
    waitingFor(pod: Pod): PodWait | undefined;
    commit(pod: Pod, signal: AbortSignal): Promise<Rejection | undefined>;
    grants(pod: Pod, container: Container, signal: AbortSignal): Promise<DeviceGrants>;
  };
  readonly cpus: {
    exclusiveCpus(uid: PodUid, container: string): CpuSet | undefined;
    hasExclusiveCpus(uid: PodUid): boolean;
    cpusFor(uid: PodUid, container: string): CpuSet;
    created(uid: PodUid, container: string, cpus: CpuSet): void;
    settled(): Promise<void>;
    saved(): Promise<void>;
  };
  readonly memory: {
    memoryNodes(uid: PodUid, container: string): string | undefined;
    started(pod: Pod, container: string): void;
    saved(): Promise<void>;
  };
}

export class ManagedResources implements ExclusiveResources {
  readonly #deps: ManagedResourcesDeps;

  constructor(deps: ManagedResourcesDeps) {
    this.#deps = deps;
  }

  /** Reserves what the pod needs. Undefined if the pod is admitted. */
  admit(pod: Pod): Rejection | undefined {
    return this.#deps.topology.admit(pod);
  }

  release(uid: PodUid): void {
    this.#deps.topology.release(uid);
  }

  /** Has the device plugins allocate what was reserved. A rejected pod is released when its rejection is published. */
  prepare(pod: Pod, signal: AbortSignal): Promise<Rejection | undefined> {
    return this.#deps.devices.commit(pod, signal);
  }

  waitsFor(pod: Pod): PodWait | undefined {
    return this.#deps.devices.waitingFor(pod);
  }

  isDevice(resource: string): boolean {
    return this.#deps.devices.isDeviceResource(resource);
  }

  async grants(pod: Pod, container: Container, signal: AbortSignal): Promise<ContainerGrants> {
    const { cpus, devices, memory } = this.#deps;
    const { name } = container;
    const uid = podUid(pod);
    await Promise.all([cpus.saved(), memory.saved()]);
    if (cpus.exclusiveCpus(uid, name) !== undefined) await cpus.settled();
    const granted = await devices.grants(pod, container, signal);
    const set = cpus.cpusFor(uid, name);
    cpus.created(uid, name, set);
    return {
      ...granted,
      cpus: set.isEmpty ? undefined : set.toString(),
      memoryNodes: memory.memoryNodes(uid, name),
    };
  }

  started(pod: Pod, { name }: Container): void {
    this.#deps.memory.started(pod, name);
  }

  hasExclusiveCpus(uid: PodUid, container?: string): boolean {
    const { cpus } = this.#deps;
    if (container === undefined) return cpus.hasExclusiveCpus(uid);
    return cpus.exclusiveCpus(uid, container) !== undefined;
  }
}
