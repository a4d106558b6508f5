// The devices that the plugin offers: harmless device nodes of the host. Announces every change of their health.

export interface SampleDevice {
  readonly id: string;
  /** The node on the host; a container sees it as /dev/sample-<id>. */
  readonly hostPath: string;
  /** Undefined if the device has no affinity. */
  readonly numaNode: number | undefined;
  readonly healthy: boolean;
}

const hostPaths = ['/dev/null', '/dev/zero', '/dev/full'] as const;

/** `4` gives the IDs 0 to 3; anything else is a list of IDs. `numa` has a node per device, or `-` for none. */
export function parseDevices(devices: string, numa = ''): readonly SampleDevice[] {
  const ids = /^\d+$/.test(devices)
    ? Array.from({ length: Number(devices) }, (_, index) => String(index))
    : devices.split(',').filter((id) => id !== '');
  const nodes = numa.split(',');
  return ids.map((id, index) => {
    const node = nodes[index] ?? '';
    if (!/^(\d+|-|)$/.test(node)) throw new Error(`--numa: "${node}" is not a NUMA node`);
    return {
      id,
      hostPath: hostPaths[index % hostPaths.length] ?? '/dev/null',
      numaNode: /^\d+$/.test(node) ? Number(node) : undefined,
      healthy: true,
    };
  });
}

export class DeviceList {
  #devices: readonly SampleDevice[];
  readonly #listeners = new Set<() => void>();

  constructor(devices: readonly SampleDevice[]) {
    this.#devices = devices;
  }

  all(): readonly SampleDevice[] {
    return this.#devices;
  }

  get(id: string): SampleDevice | undefined {
    return this.#devices.find((device) => device.id === id);
  }

  /** Replaces the list and announces it. A real plugin calls this when a device fails, recovers, comes or goes. */
  set(devices: readonly SampleDevice[]): void {
    this.#devices = devices;
    for (const listener of this.#listeners) listener();
  }

  /** Returns the function that ends the subscription. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
